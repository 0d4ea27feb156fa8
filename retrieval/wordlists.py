"""Words by hand: legal forms, names that are also words, tickers that are also words, nicknames. Data, no code."""

from __future__ import annotations

LEGAL = frozenset("""
inc corp co companies ltd llc lp llp plc sa nv ag se ab asa spa trust bancorp bancshares group groupe holding holdings and com international
intl public new md de
""".split())
SHORTER = {"incorporated": "inc", "corporation": "corp", "company": "co", "limited": "ltd"}

# Names of listed companies, or first words of them, that are words of every question.
COMMON = frozenset("""
a aaron able about above abs academy accelerate acceptance access account accounts ace acorn act action active acuity adapt advance
advanced advantage aerospace affiliated affirm after agree air airlines alarm alaska alert align alkaline all alliance allied alpha also
alternative am america american americas amount amplify an analog anchor and any anywhere apartment apollo applied april arch are arrow
art arts as aspen asset assets associated assurance at atlantic atlas august auto automatic avenue average avid axis back balance ball
banc band bank banks bar bark basic bath be beacon best better between beverages beyond big bill biosciences biotech black block blue
board bond book boot both bow box brands bridge bright brink broad brown build builders building business but by cable cactus calendar
california camping can canada capital car carbon card cardinal cards care carnival carrier carter cash casual catalyst cell cement center
central century certain champion change charge chart charter chase chemical chemicals chief china choice church circle citizens city clean
clear cloud coach coal coast coastal cold columbia comfort command commerce commercial common communications community compass complete
computer concentrate concrete connect consolidated constellation construction consumer consumers container continental control cooper
copper core corporate cost could cross crown crystal current cutter data day deep delta design devices diamond did digital dime direct
discover discovery diversified do does dollar domino doors dover dow dream drive duke during dynamic each eagle early earth east eastern
easy echo ecology edge edison education electric electronic element emerald emerson employers energy engine enhance enterprise enterprises
entertainment equipment equity essential estate ever everest evergreen exact excel exchange expand express extra extreme eye factor fair
family farmers fast fate federal fidelity field finance financial first fisher five flag flex flow flowers focus food foods foot for
forest form forward fossil foundation fox franklin freedom freight fresh from frontier fuel full fund future gap gas gate general
generation genesis genius get giant glacier global globe go gold golden good grace graham grand graphic gray great green grid ground group
grow growth guardian guess guidance gulf half hamilton harbor hard harmony have health healthcare heart heritage high hill his home homes
hope horizon host how how's hub human hunt ice icon ideal if illinois image impact in independence independent indiana industrial
industries industry infinity information inn innovative insight inspire installed instruments insurance integrated inter interactive
interest interface international internet into intuitive investment investors iron is island it it's its jack january joint jones june key
kind kinder king knight know la laboratories lake lamb land landmark lands last latin lead leader less liberty life light lincoln line
linear link lion liquid live loans local logic long look loop low lucid lumber lumen m machines macro magic magnum main major man
manhattan many marathon march marine marker market markets martin mass master match material materials matter may me media medical
medicine mercury merit met meta metals metro micro mid middle midland midwest mind mission mobile model modern monarch monday monster moon
morning motion motor motors mountain mr much mutual my national natural nature navigator net network networks new news next nice no noble
nordic north northern not note nova now nuclear number nutrient ocean of off office offset oil old olympic omega on one only open
options or oracle orange orion other our out outdoor outfront outset over overseas owens own pacific packaging paid palm paper park parker
partners past path patient patriot pay peak people per perfect perform performance permian pet pharmaceutical pharmaceuticals phoenix
physicians pilot pioneer plains plan planet platforms play plug point pool popular portland post potential power precision premier premium
president prime principal priority pro procept products progress progressive project property prospect prosperity protagonist provident
prudential public pulse pure quaker quality quanta quest quick radian rail ranger rapid raven real reality realty red regal regency region
regional regions rent repay republic research reserve residential resolute resource resources response rest restaurants retail revolution
rhythm right ring rise river rock rocket rocky root rose ross royal run rush safe safety sage sales salt savers science sciences scotts
sea seaboard select semi semiconductor senior sense service services seven shake shell shift shoe shop sight sign signet silver simon
simple simply since sixth sketch sky sleep small smart snap so social software solar solid solutions source south southern southwest space
spark special spectrum spire spirit sport sprout sprouts square st stable standard star start state states steel stem sterling stock stone
store stores strategic strategy stride stronghold student summit sun sunrise super superior supply surf surgery sweet swift switch sync
system systems table tactile tandem target team tech technical technologies technology telephone terra texas than that the their then
therapeutics there these they third this those tidewater tiger time timken titan to toast total tower town toy tractor trade transcat
transport travel travelers treasury trend tri trinity true trust turning twist two u ultra under union unit united unity universal until
up urban us use utilities vacation vail valley value vector vertex vertical veteran victory view virtual visa vision vista vital walker
wall warrior was wash washington waste water watts wave way we weather well were west western what wheels when where which white who whole
whose why will wind winner wire with wolf wolverine wood work workday workhorse world worth year yellow you young zebra zeta zimmer zoom
""".split())

TICKER_WORDS = frozenset("""
A AI AIR ALL AM AN AND ANY ARE ARPU ASC ASU AT AWS BE BIG BOOM BOX BY CAGR CAN CAPEX CAR CARE CASH CEO CFO CIK CIO COO COST CPA CPI CTO
DAY DO DEI DOC EAT EBIT EPS ESG EU EV EVER EVP FAST FDA FOR FORM FREE FUN FX FY GAAP GAP GDP GO GOOD GROW HAS HE HR ID IN IP IPO IS IT KEY
LIFE LOVE LOW LTV MA MAIN ME MET MIND MRO MSR NET NEW NEXT NII NIM NO NON NOW NYSE OF OLD ON ONE OPEN OR OUT OWN PAY PC PE PLAN PLAY PM PR
PSU REAL REIT ROA ROE ROIC RSU RUN SAFE SEC SEE SG SGA SO SON STAY SUN TAP TAX TEAM THE TO TRUE TV TWO UK UN UP US USA USD VERY VS WAY WE
WELL WHO WORK YOU YTD
""".split())

# By plain short name, as filed: what else people call it, plain.
NICKNAMES = {
    "advancedmicrodevices": ("amd",), "alphabet": ("google", "googl"), "americanexpress": ("amex",), "applecomputer": ("apple",),
    "bankofamerica": ("bofa",), "berkshirehathaway": ("berkshire",), "bristolmyerssquibb": ("bms", "bristol"), "chevron":
    ("chevrontexaco",), "citigroup": ("citi",), "cocacola": ("coke",), "cvshealth": ("cvs",), "electronicarts": ("ea",), "elililly":
    ("lilly",), "esteelauder": ("estee",), "exxonmobil": ("exxon",), "facebook": ("meta",), "fordmotor": ("ford",), "generalelectric":
    ("ge", "geaerospace"), "generalmotors": ("gm",), "goldmansachs": ("goldman",), "hewlettpackard": ("hp",), "hewlettpackardenterprise":
    ("hpe",), "homedepot": ("thehomedepot",), "internationalbusinessmachines": ("ibm",), "johnsonjohnson": ("jj", "jnj"), "jpmorganchase":
    ("jpmorgan", "jpm"), "metaplatforms": ("meta", "facebook"), "pepsi": ("pepsico",), "pepsico": ("pepsi",), "proctergamble": ("pg",
    "proctergamble"), "raytheontechnologies": ("raytheon", "rtx"), "rtx": ("raytheon",), "teslamotors": ("tesla",), "texasinstruments":
    ("ti",), "tmobileus": ("tmobile",), "unitedparcelservice": ("ups",), "verizoncommunications": ("verizon",), "walmartstores":
    ("walmart",), "waltdisney": ("disney",), "worthingtonindustries": ("worthington",),
}
