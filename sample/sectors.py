"""Words of the sample's trades: what a fictional company of each makes, buys, sells to, and why its figures move. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sector:
    name: str
    sic: str  # number and EDGAR's title
    business: str  # completes "designs, manufactures and sells …"
    segments: tuple[str, ...]
    products: tuple[str, ...]
    materials: tuple[str, ...]
    customers: tuple[str, ...]
    sites: tuple[str, ...]  # kinds of property
    measure: str  # an operating measure beside money
    margin_up: tuple[str, ...]  # complete "… primarily because of"
    margin_down: tuple[str, ...]
    sales_up: tuple[str, ...]
    sales_down: tuple[str, ...]
    risks: tuple[tuple[str, str], ...]  # heading and body
    gross: tuple[int, int]  # range of gross margin in percent


SECTORS = (
    Sector(
        "flow control", "PUMPS & PUMPING EQUIPMENT [3561]", "industrial pumps, valves and the controls that run them",
        ("Process Pumps", "Water Systems", "Service and Parts"),
        ("magnetically driven pump", "submersible dewatering pump", "triple-offset butterfly valve", "seal-support skid",
            "pump condition monitor"),
        ("duplex stainless castings", "rare-earth magnets", "silicon carbide seal faces", "copper windings"),
        ("chemical producers", "municipal water utilities", "mine operators", "pulp and paper mills"),
        ("foundry", "assembly plant", "hydraulic test station"), "installed pumps under monitoring",
        ("a richer mix of aftermarket seals and rotor kits", "the return of outsourced impeller machining to our own foundry",
         "price increases on engineered skids that took hold ahead of casting inflation", "fewer warranty returns on the "
                                                                                          "second-generation bearing frame"),
        ("higher nickel surcharges on duplex castings", "two loss-making desalination skids accepted before the price rise",
         "overtime while the foundry's induction furnace was relined", "air freight paid to recover late motor deliveries"),
        ("replacement of leaking pumps ahead of tighter seal-emission rules", "dewatering orders from copper mines",
         "utility spending on lead-line and booster station programs", "larger service contracts at chemical complexes"),
        ("chemical producers deferring turnaround work", "destocking by two pump distributors", "the end of a large irrigation project",
         "permit delays at municipal plants"),
        (("Casting supply is concentrated in few foundries.", "Qualified foundries for corrosion-resistant castings need twelve to "
                                                              "eighteen months of approval by our end users, so a closure cannot be "
                                                              "answered by moving patterns."),
         ("Pump failures can release hazardous fluids.", "A seal that fails in acid or solvent duty can injure people and contaminate "
                                                         "land, and our limits of liability are not enforced in every court."),),
        (31, 39)),
    Sector(
        "logistics software", "SERVICES-PREPACKAGED SOFTWARE [7372]", "cloud software with which shippers and carriers plan, book and "
                                                                      "settle freight",
        ("Subscription", "Payments", "Professional Services"),
        ("yard scheduling module", "freight audit service", "customs filing connector", "carbon ledger for shipments",
            "dock appointment app"),
        ("public cloud capacity", "mapping data", "telematics feeds", "card network access"),
        ("third-party logistics firms", "grocery chains", "ocean forwarders", "parcel consolidators"),
        ("engineering office", "support center", "data hall"), "connected carriers",
        ("the retirement of a leased data hall after moving tenants to reserved cloud capacity",
            "a greater share of renewals sold without implementation work",
         "automated onboarding of carriers, which cut support hours per tenant", "renegotiated mapping data fees"),
        ("duplicate hosting while tenants were moved between cloud regions", "interchange costs that grew faster than payment fees",
         "contract implementers hired for three delayed go-lives", "credits granted after the spring service interruption"),
        ("upgrades from the yard module to the full planning suite", "payment volume of newly connected carriers",
         "mandatory e-waybill rules that brought forwarders to the customs connector", "price indexation at renewal"),
        ("churn among small brokers", "a lower average invoice in spot freight", "customers buying implementation from partners",
         "longer approval cycles at retail shippers"),
        (("Interruptions of service would be noticed at every dock.", "Our customers load trucks by our schedules around the clock, and "
                                                                      "an outage of an hour can strand drivers and lead to service "
                                                                      "credits beyond the fees at stake."),
         ("We hold money that belongs to carriers.", "Settlement balances expose us to fraud, to licensing as a money transmitter and "
                                                     "to the failure of a sponsoring bank."),),
        (62, 72)),
    Sector(
        "specialty foods", "CANNED, FROZEN & PRESERVD FRUIT, VEG & FOOD SPECIALTIES [2030]", "sauces, pickled vegetables and chilled meals",
        ("Pantry", "Chilled", "Foodservice"),
        ("fermented chili sauce", "small-batch relish", "chilled grain bowl", "vinegar-cured beets", "shelf-stable broth"),
        ("jalapeno mash", "glass jars", "cider vinegar", "cane sugar", "chickpeas"),
        ("warehouse clubs", "regional grocers", "restaurant distributors", "meal-kit companies"),
        ("cannery", "cold store", "fermentation hall"), "retail doors served",
        ("lower glass prices after the furnace contract was rebid", "the discontinuation of low-margin private-label relish",
         "better fill rates at the chilled line, which cut spoilage", "smaller trade promotions in the club channel"),
        ("a poor chili harvest that raised mash prices", "write-offs of chilled bowls during the ramp of the new line",
         "higher spot freight for refrigerated trucks", "slotting fees for the national launch of broth"),
        ("distribution gains in warehouse clubs", "a longer grilling season", "menu placements at two burger chains",
            "the launch of family-size bowls"),
        ("a retailer's switch to its own label", "a recall of one lot of relish", "less traffic in casual dining",
            "a capacity limit in fermentation"),
        (("Harvests of few regions decide our costs.", "Most of our chili mash comes from growers within one river basin, and drought "
                                                       "there cannot be replaced within a season because the cultivar is grown under "
                                                       "our seed license."),
         ("A contaminated lot can end a brand.", "Fermented and low-acid foods need exact control, and a failure could cause illness, "
                                                 "recall costs and the loss of shelf space for years."),),
        (27, 36)),
    Sector(
        "medical devices", "SURGICAL & MEDICAL INSTRUMENTS & APPARATUS [3841]", "devices for minimally invasive vascular and orthopedic "
                                                                                "procedures",
        ("Vascular Access", "Orthopedics", "Monitoring"),
        ("steerable guide sheath", "bioresorbable anchor", "closed-loop infusion set", "wireless pressure patch", "drill guide system"),
        ("nitinol tube", "medical-grade PEEK", "sterile pouches", "microcontrollers"),
        ("hospital groups", "ambulatory surgery centers", "purchasing organizations", "distributors outside the United States"),
        ("clean room plant", "sterilization site", "training laboratory"), "active hospital accounts",
        ("moving sterilization in house", "a higher share of disposable sheaths in procedures", "yield gains in laser cutting of nitinol",
         "the end of royalty payments under an expired license"),
        ("scrap during the transfer of the anchor line", "discounts granted in a group purchasing tender",
            "expedited components for the pressure patch",
         "a field action on infusion sets"),
        ("procedure growth at surgery centers", "first-year sales of the wireless patch", "conversion of accounts won from a withdrawn "
                                                                                          "competitor",
         "reimbursement approval in two countries"),
        ("hospitals working down stocks of sheaths", "a delayed clearance of the drill guide", "tender losses in two public health systems",
         "fewer elective knee procedures"),
        (("Clearances may come late or not at all.", "Each change of a device may need a new submission, and reviewers have asked for "
                                                     "longer follow-up than we planned in our trials."),
         ("Purchasing organizations set our prices.", "Few groups negotiate for most hospitals, and the loss of one contract removes "
                                                      "our devices from hundreds of operating rooms at once."),),
        (55, 66)),
    Sector(
        "semiconductor test", "INSTRUMENTS FOR MEAS & TESTING OF ELECTRICITY & ELEC SIGNALS [3825]",
            "probe cards, handlers and software that test chips",
        ("Probe Cards", "Handlers", "Test Software"),
        ("fine-pitch probe head", "cryogenic handler", "burn-in board", "wafer map analyzer", "thermal chuck"),
        ("palladium wire", "ceramic space transformers", "linear motors", "precision bearings"),
        ("foundries", "memory makers", "fabless designers", "assembly and test subcontractors"),
        ("micro-machining plant", "demonstration laboratory", "repair depot"), "probe heads in service",
        ("a better mix of high-parallelism probe cards", "second-sourcing of ceramic transformers", "shorter cycle times in probe assembly",
         "software licenses sold with each handler"),
        ("under-absorbed plant costs in the first half", "palladium at record prices", "rework on the first cryogenic handlers",
            "inventory write-downs for an older burn-in board"),
        ("stacked-memory qualification at two makers", "handlers for automotive power devices",
            "annual software maintenance on a larger base",
         "a repair backlog that was cleared"),
        ("memory makers cutting wafer starts", "export licensing that held back handlers", "a customer's change of package",
            "slower depot turnaround"),
        (("Our sales follow the chip cycle with a whip.", "Orders for probe cards can halve within two quarters when wafer starts fall, "
                                                          "while our micro-machining costs are largely fixed."),
         ("Export rules can close a market overnight.", "Handlers for advanced packages need licenses for several countries, and a "
                                                        "refusal leaves us with machines that no one else can use."),),
        (43, 54)),
    Sector(
        "coatings", "PAINTS, VARNISHES, LACQUERS, ENAMELS & ALLIED PRODS [2851]", "protective coatings and sealants for structures and "
                                                                                  "machines",
        ("Industrial Coatings", "Marine", "Sealants"),
        ("waterborne epoxy primer", "fire-protective coating", "foul-release hull paint", "polyurea membrane",
         "structural glazing sealant"),
        ("titanium dioxide", "epoxy resin", "isocyanates", "solvents"),
        ("shipyards", "steel fabricators", "wind tower makers", "commercial builders"),
        ("resin kettle plant", "tinting center", "weathering station"), "licensed applicators",
        ("lower titanium dioxide prices", "a shift from solvent to waterborne grades made in our largest kettles",
            "closing a toll blending contract",
         "fire-protective coatings sold with inspection service"),
        ("an epoxy resin shortage met by spot purchases", "hull paint sold at old prices under two-year yard agreements",
            "the fire at a resin supplier",
         "start-up losses of the tinting center"),
        ("a wave of ship dockings", "data center steel that needs fire protection", "wind tower orders",
            "repaint programs of two bridge authorities"),
        ("strikes at shipyards", "fewer office towers", "dealers running down stocks of sealant", "a wet painting season"),
        (("Rules on solvents may outlaw products.", "Lower limits for volatile compounds in several states would end grades that we "
                                                    "have not yet replaced with waterborne ones."),
         ("Isocyanate handling is dangerous.", "A release at a kettle plant could harm employees and neighbors and stop the only lines "
                                               "that make our membranes."),),
        (33, 43)),
    Sector(
        "cold-chain freight", "TRUCKING (NO LOCAL) [4213]", "temperature-controlled transport and storage",
        ("Linehaul", "Cold Storage", "Last Mile"),
        ("multi-temperature trailer", "rail reefer service", "pharma lane", "pallet pooling service", "blast freezing service"),
        ("diesel", "refrigerants", "trailer chassis", "electricity"),
        ("frozen food makers", "vaccine distributors", "produce growers", "grocery chains"),
        ("cross-dock", "freezer warehouse", "maintenance shop"), "temperature-controlled trailers",
        ("fewer empty miles after lanes were rebalanced", "solar roofs that lowered freezer electricity",
            "rail moves on the two longest lanes",
         "fuel surcharges that lagged falling diesel"),
        ("driver sign-on pay", "rented tractors while recalled ones were out of service", "insurance deductibles on two spoiled vaccine "
                                                                                          "loads",
         "opening costs of a freezer that filled slowly"),
        ("a record potato harvest", "vaccine lanes awarded in spring", "grocers moving to weekend deliveries",
            "blast freezing for seafood importers"),
        ("weak frozen novelty volumes", "an ice storm that closed two hubs", "a grocer taking deliveries in house",
            "spot rates below contract rates"),
        (("Drivers are scarce.", "Turnover among long-haul drivers exceeds our plan in most years, and trucks without drivers still "
                                 "carry lease payments."),
         ("A failed compressor spoils a load in hours.", "Claims for spoiled vaccines can exceed the freight by a hundred times, and "
                                                         "insurers have raised deductibles for such lanes."),),
        (18, 27)),
    Sector(
        "energy storage", "MISCELLANEOUS ELECTRICAL MACHINERY, EQUIPMENT & SUPPLIES [3690]", "battery cabinets, inverters and the "
                                                                                             "software that dispatches them",
        ("Utility Storage", "Commercial", "Grid Software"),
        ("liquid-cooled battery cabinet", "string inverter", "microgrid controller", "fast frequency module", "fire detection loop"),
        ("lithium iron phosphate cells", "power semiconductors", "aluminum enclosures", "transformers"),
        ("utilities", "solar developers", "cold warehouses", "universities"),
        ("cabinet assembly plant", "grid simulation laboratory", "spare parts depot"), "megawatt-hours under dispatch",
        ("cell prices that fell faster than contract prices", "local assembly that qualified for a production credit",
            "dispatch software billed per megawatt-hour",
         "a simpler cooling loop with fewer joints"),
        ("liquidated damages on a late substation project", "cells bought forward at high prices", "replacement of early inverter boards",
         "tariffs on imported enclosures"),
        ("summer capacity contracts of three utilities", "demand-charge savings sold to cold warehouses", "software fees on a larger fleet",
            "repowering of first-generation sites"),
        ("interconnection queues that moved projects into next year", "high interest rates for developers",
            "a canceled university microgrid",
         "customers waiting for a new tax rule"),
        (("A battery fire anywhere hurts everyone.", "Sites built by others have burned, and local moratoria have stopped projects of "
                                                     "ours that were already paid for."),
         ("Cells come from few makers overseas.", "Three producers supply nearly all cells that pass our tests, and tariffs on them "
                                                  "change with little notice."),),
        (20, 31)),
)
