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
    merits: tuple[str, ...]  # of a new product, completes "that …"


SECTORS = (
    Sector(
        name="flow control",
        sic="PUMPS & PUMPING EQUIPMENT [3561]",
        business="industrial pumps, valves and the controls that run them",
        segments=("Process Pumps", "Water Systems", "Service and Parts"),
        products=("magnetically driven pump", "submersible dewatering pump", "triple-offset butterfly valve", "seal-support skid",
                  "pump condition monitor"),
        materials=("duplex stainless castings", "rare-earth magnets", "silicon carbide seal faces", "copper windings"),
        customers=("chemical producers", "municipal water utilities", "mine operators", "pulp and paper mills"),
        sites=("foundry", "assembly plant", "hydraulic test station"),
        measure="installed pumps under monitoring",
        margin_up=("a richer mix of aftermarket seals and rotor kits", "the return of outsourced impeller machining to our own foundry",
                   "price increases on engineered skids that took hold ahead of casting inflation",
                   "fewer warranty returns on the second-generation bearing frame"),
        margin_down=("higher nickel surcharges on duplex castings", "two loss-making desalination skids accepted before the price rise",
                     "overtime while the foundry's induction furnace was relined", "air freight paid to recover late motor deliveries"),
        sales_up=("replacement of leaking pumps ahead of tighter seal-emission rules", "dewatering orders from copper mines",
                  "utility spending on lead-line and booster station programs", "larger service contracts at chemical complexes"),
        sales_down=("chemical producers deferring turnaround work", "destocking by two pump distributors",
                    "the end of a large irrigation project", "permit delays at municipal plants"),
        risks=(
            ("Casting supply is concentrated in few foundries.",
             "Qualified foundries for corrosion-resistant castings need twelve to eighteen months of approval by our end users, so a "
             "closure cannot be answered by moving patterns."),
            ("Pump failures can release hazardous fluids.",
             "A seal that fails in acid or solvent duty can injure people and contaminate land, and our limits of liability are not "
             "enforced in every court."),
        ),
        gross=(31, 39),
        merits=("runs dry for ten minutes without harm", "can be serviced without lifting the motor",
                "reports its own wear over a radio link", "meets the stricter limits for leaks that take effect next year"),
    ),
    Sector(
        name="logistics software",
        sic="SERVICES-PREPACKAGED SOFTWARE [7372]",
        business="cloud software with which shippers and carriers plan, book and settle freight",
        segments=("Subscription", "Payments", "Professional Services"),
        products=("yard scheduling module", "freight audit service", "customs filing connector", "carbon ledger for shipments",
                  "dock appointment app"),
        materials=("public cloud capacity", "mapping data", "telematics feeds", "card network access"),
        customers=("third-party logistics firms", "grocery chains", "ocean forwarders", "parcel consolidators"),
        sites=("engineering office", "support center", "data hall"),
        measure="connected carriers",
        margin_up=("the retirement of a leased data hall after moving tenants to reserved cloud capacity",
                   "a greater share of renewals sold without implementation work",
                   "automated onboarding of carriers, which cut support hours per tenant", "renegotiated mapping data fees"),
        margin_down=("duplicate hosting while tenants were moved between cloud regions",
                     "interchange costs that grew faster than payment fees", "contract implementers hired for three delayed go-lives",
                     "credits granted after the spring service interruption"),
        sales_up=("upgrades from the yard module to the full planning suite", "payment volume of newly connected carriers",
                  "mandatory e-waybill rules that brought forwarders to the customs connector", "price indexation at renewal"),
        sales_down=("churn among small brokers", "a lower average invoice in spot freight",
                    "customers buying implementation from partners", "longer approval cycles at retail shippers"),
        risks=(
            ("Interruptions of service would be noticed at every dock.",
             "Our customers load trucks by our schedules around the clock, and an outage of an hour can strand drivers and lead to "
             "service credits beyond the fees at stake."),
            ("We hold money that belongs to carriers.",
             "Settlement balances expose us to fraud, to licensing as a money transmitter and to the failure of a sponsoring bank."),
        ),
        gross=(62, 72),
        merits=("settles a disputed invoice in a day", "needs no training of drivers", "forecasts arrival within a quarter of an hour",
                "files customs entries without a broker"),
    ),
    Sector(
        name="specialty foods",
        sic="CANNED, FROZEN & PRESERVD FRUIT, VEG & FOOD SPECIALTIES [2030]",
        business="sauces, pickled vegetables and chilled meals",
        segments=("Pantry", "Chilled", "Foodservice"),
        products=("fermented chili sauce", "small-batch relish", "chilled grain bowl", "vinegar-cured beets", "shelf-stable broth"),
        materials=("jalapeno mash", "glass jars", "cider vinegar", "cane sugar", "chickpeas"),
        customers=("warehouse clubs", "regional grocers", "restaurant distributors", "meal-kit companies"),
        sites=("cannery", "cold store", "fermentation hall"),
        measure="retail doors served",
        margin_up=("lower glass prices after the furnace contract was rebid", "the discontinuation of low-margin private-label relish",
                   "better fill rates at the chilled line, which cut spoilage", "smaller trade promotions in the club channel"),
        margin_down=("a poor chili harvest that raised mash prices", "write-offs of chilled bowls during the ramp of the new line",
                     "higher spot freight for refrigerated trucks", "slotting fees for the national launch of broth"),
        sales_up=("distribution gains in warehouse clubs", "a longer grilling season", "menu placements at two burger chains",
                  "the launch of family-size bowls"),
        sales_down=("a retailer's switch to its own label", "a recall of one lot of relish", "less traffic in casual dining",
                    "a capacity limit in fermentation"),
        risks=(
            ("Harvests of few regions decide our costs.",
             "Most of our chili mash comes from growers within one river basin, and drought there cannot be replaced within a season "
             "because the cultivar is grown under our seed license."),
            ("A contaminated lot can end a brand.",
             "Fermented and low-acid foods need exact control, and a failure could cause illness, recall costs and the loss of shelf "
             "space for years."),
        ),
        gross=(27, 36),
        merits=("keeps for two years without refrigeration", "has a third less salt than its predecessor",
                "is packed in returnable glass", "cooks in four minutes from frozen"),
    ),
    Sector(
        name="medical devices",
        sic="SURGICAL & MEDICAL INSTRUMENTS & APPARATUS [3841]",
        business="devices for minimally invasive vascular and orthopedic procedures",
        segments=("Vascular Access", "Orthopedics", "Monitoring"),
        products=("steerable guide sheath", "bioresorbable anchor", "closed-loop infusion set", "wireless pressure patch",
                  "drill guide system"),
        materials=("nitinol tube", "medical-grade PEEK", "sterile pouches", "microcontrollers"),
        customers=("hospital groups", "ambulatory surgery centers", "purchasing organizations", "distributors outside the United States"),
        sites=("clean room plant", "sterilization site", "training laboratory"),
        measure="active hospital accounts",
        margin_up=("moving sterilization in house", "a higher share of disposable sheaths in procedures",
                   "yield gains in laser cutting of nitinol", "the end of royalty payments under an expired license"),
        margin_down=("scrap during the transfer of the anchor line", "discounts granted in a group purchasing tender",
                     "expedited components for the pressure patch", "a field action on infusion sets"),
        sales_up=("procedure growth at surgery centers", "first-year sales of the wireless patch",
                  "conversion of accounts won from a withdrawn competitor", "reimbursement approval in two countries"),
        sales_down=("hospitals working down stocks of sheaths", "a delayed clearance of the drill guide",
                    "tender losses in two public health systems", "fewer elective knee procedures"),
        risks=(
            ("Clearances may come late or not at all.",
             "Each change of a device may need a new submission, and reviewers have asked for longer follow-up than we planned in our "
             "trials."),
            ("Purchasing organizations set our prices.",
             "Few groups negotiate for most hospitals, and the loss of one contract removes our devices from hundreds of operating rooms "
             "at once."),
        ),
        gross=(55, 66),
        merits=("shortens a procedure by eleven minutes", "needs no second incision", "reads out to a nurse's telephone",
                "can be sterilized without ethylene oxide"),
    ),
    Sector(
        name="semiconductor test",
        sic="INSTRUMENTS FOR MEAS & TESTING OF ELECTRICITY & ELEC SIGNALS [3825]",
        business="probe cards, handlers and software that test chips",
        segments=("Probe Cards", "Handlers", "Test Software"),
        products=("fine-pitch probe head", "cryogenic handler", "burn-in board", "wafer map analyzer", "thermal chuck"),
        materials=("palladium wire", "ceramic space transformers", "linear motors", "precision bearings"),
        customers=("foundries", "memory makers", "fabless designers", "assembly and test subcontractors"),
        sites=("micro-machining plant", "demonstration laboratory", "repair depot"),
        measure="probe heads in service",
        margin_up=("a better mix of high-parallelism probe cards", "second-sourcing of ceramic transformers",
                   "shorter cycle times in probe assembly", "software licenses sold with each handler"),
        margin_down=("under-absorbed plant costs in the first half", "palladium at record prices",
                     "rework on the first cryogenic handlers", "inventory write-downs for an older burn-in board"),
        sales_up=("stacked-memory qualification at two makers", "handlers for automotive power devices",
                  "annual software maintenance on a larger base", "a repair backlog that was cleared"),
        sales_down=("memory makers cutting wafer starts", "export licensing that held back handlers", "a customer's change of package",
                    "slower depot turnaround"),
        risks=(
            ("Our sales follow the chip cycle with a whip.",
             "Orders for probe cards can halve within two quarters when wafer starts fall, while our micro-machining costs are largely "
             "fixed."),
            ("Export rules can close a market overnight.",
             "Handlers for advanced packages need licenses for several countries, and a refusal leaves us with machines that no one else "
             "can use."),
        ),
        gross=(43, 54),
        merits=("halves the time of a change of device", "holds its temperature within a tenth of a degree",
                "tests twice as many dies in one touch", "finds drifting needles by itself"),
    ),
    Sector(
        name="coatings",
        sic="PAINTS, VARNISHES, LACQUERS, ENAMELS & ALLIED PRODS [2851]",
        business="protective coatings and sealants for structures and machines",
        segments=("Industrial Coatings", "Marine", "Sealants"),
        products=("waterborne epoxy primer", "fire-protective coating", "foul-release hull paint", "polyurea membrane",
                  "structural glazing sealant"),
        materials=("titanium dioxide", "epoxy resin", "isocyanates", "solvents"),
        customers=("shipyards", "steel fabricators", "wind tower makers", "commercial builders"),
        sites=("resin kettle plant", "tinting center", "weathering station"),
        measure="licensed applicators",
        margin_up=("lower titanium dioxide prices", "a shift from solvent to waterborne grades made in our largest kettles",
                   "closing a toll blending contract", "fire-protective coatings sold with inspection service"),
        margin_down=("an epoxy resin shortage met by spot purchases", "hull paint sold at old prices under two-year yard agreements",
                     "the fire at a resin supplier", "start-up losses of the tinting center"),
        sales_up=("a wave of ship dockings", "data center steel that needs fire protection", "wind tower orders",
                  "repaint programs of two bridge authorities"),
        sales_down=("strikes at shipyards", "fewer office towers", "dealers running down stocks of sealant", "a wet painting season"),
        risks=(
            ("Rules on solvents may outlaw products.",
             "Lower limits for volatile compounds in several states would end grades that we have not yet replaced with waterborne "
             "ones."),
            ("Isocyanate handling is dangerous.",
             "A release at a kettle plant could harm employees and neighbors and stop the only lines that make our membranes."),
        ),
        gross=(33, 43),
        merits=("cures below freezing", "goes on in one coat in place of three", "contains no solvent",
                "can be walked on after two hours"),
    ),
    Sector(
        name="cold-chain freight",
        sic="TRUCKING (NO LOCAL) [4213]",
        business="temperature-controlled transport and storage",
        segments=("Linehaul", "Cold Storage", "Last Mile"),
        products=("multi-temperature trailer", "rail reefer service", "pharma lane", "pallet pooling service", "blast freezing service"),
        materials=("diesel", "refrigerants", "trailer chassis", "electricity"),
        customers=("frozen food makers", "vaccine distributors", "produce growers", "grocery chains"),
        sites=("cross-dock", "freezer warehouse", "maintenance shop"),
        measure="temperature-controlled trailers",
        margin_up=("fewer empty miles after lanes were rebalanced", "solar roofs that lowered freezer electricity",
                   "rail moves on the two longest lanes", "fuel surcharges that lagged falling diesel"),
        margin_down=("driver sign-on pay", "rented tractors while recalled ones were out of service",
                     "insurance deductibles on two spoiled vaccine loads", "opening costs of a freezer that filled slowly"),
        sales_up=("a record potato harvest", "vaccine lanes awarded in spring", "grocers moving to weekend deliveries",
                  "blast freezing for seafood importers"),
        sales_down=("weak frozen novelty volumes", "an ice storm that closed two hubs", "a grocer taking deliveries in house",
                    "spot rates below contract rates"),
        risks=(
            ("Drivers are scarce.",
             "Turnover among long-haul drivers exceeds our plan in most years, and trucks without drivers still carry lease payments."),
            ("A failed compressor spoils a load in hours.",
             "Claims for spoiled vaccines can exceed the freight by a hundred times, and insurers have raised deductibles for such "
             "lanes."),
        ),
        gross=(18, 27),
        merits=("reports the temperature of each pallet", "cuts empty miles on the way back", "runs on batteries while it is parked",
                "guarantees a two-hour window"),
    ),
    Sector(
        name="energy storage",
        sic="MISCELLANEOUS ELECTRICAL MACHINERY, EQUIPMENT & SUPPLIES [3690]",
        business="battery cabinets, inverters and the software that dispatches them",
        segments=("Utility Storage", "Commercial", "Grid Software"),
        products=("liquid-cooled battery cabinet", "string inverter", "microgrid controller", "fast frequency module",
                  "fire detection loop"),
        materials=("lithium iron phosphate cells", "power semiconductors", "aluminum enclosures", "transformers"),
        customers=("utilities", "solar developers", "cold warehouses", "universities"),
        sites=("cabinet assembly plant", "grid simulation laboratory", "spare parts depot"),
        measure="megawatt-hours under dispatch",
        margin_up=("cell prices that fell faster than contract prices", "local assembly that qualified for a production credit",
                   "dispatch software billed per megawatt-hour", "a simpler cooling loop with fewer joints"),
        margin_down=("liquidated damages on a late substation project", "cells bought forward at high prices",
                     "replacement of early inverter boards", "tariffs on imported enclosures"),
        sales_up=("summer capacity contracts of three utilities", "demand-charge savings sold to cold warehouses",
                  "software fees on a larger fleet", "repowering of first-generation sites"),
        sales_down=("interconnection queues that moved projects into next year", "high interest rates for developers",
                    "a canceled university microgrid", "customers waiting for a new tax rule"),
        risks=(
            ("A battery fire anywhere hurts everyone.",
             "Sites built by others have burned, and local moratoria have stopped projects of ours that were already paid for."),
            ("Cells come from few makers overseas.",
             "Three producers supply nearly all cells that pass our tests, and tariffs on them change with little notice."),
        ),
        gross=(20, 31),
        merits=("needs a third less cooling energy than its predecessor", "starts without a grid", "stops a cell fire within its module",
                "can be set up without a crane"),
    ),
)
