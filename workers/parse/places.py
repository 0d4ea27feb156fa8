"""Codes of places and exchanges by their English names in lower case, for the SEC's name transformations."""

from __future__ import annotations


def _table(text: str) -> dict[str, str]:
    """`CODE name|CODE name` by name."""
    return {name.lower(): code for code, _, name in (entry.strip().partition(" ") for entry in text.replace("\n", "|").split("|")) if name}


_AMERICA = """
AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware|DC District of Columbia|FL Florida
GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA Iowa|KS Kansas|KY Kentucky|LA Louisiana|ME Maine|MD Maryland|MA Massachusetts
MI Michigan|MN Minnesota|MS Mississippi|MO Missouri|MT Montana|NE Nebraska|NV Nevada|NH New Hampshire|NJ New Jersey|NM New Mexico
NY New York|NC North Carolina|ND North Dakota|OH Ohio|OK Oklahoma|OR Oregon|PA Pennsylvania|RI Rhode Island|SC South Carolina
SD South Dakota|TN Tennessee|TX Texas|UT Utah|VT Vermont|VA Virginia|WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming
PR Puerto Rico|GU Guam|AS American Samoa|VI Virgin Islands|MP Northern Mariana Islands
"""
STATES = _table(_AMERICA + """
AB Alberta|BC British Columbia|MB Manitoba|NB New Brunswick|NL Newfoundland and Labrador|NL Newfoundland|NS Nova Scotia|ON Ontario
PE Prince Edward Island|QC Quebec|SK Saskatchewan|YT Yukon|NT Northwest Territories|NU Nunavut
""") | {"washington dc": "DC", "washington d c": "DC", "commonwealth of pennsylvania": "PA", "commonwealth of massachusetts": "MA",
        "commonwealth of virginia": "VA", "commonwealth of puerto rico": "PR"}

COUNTRIES = _table("""
AF Afghanistan|AX Aland Islands|AL Albania|DZ Algeria|AS American Samoa|AD Andorra|AO Angola|AI Anguilla|AQ Antarctica
AG Antigua and Barbuda|AR Argentina|AM Armenia|AW Aruba|AU Australia|AT Austria|AZ Azerbaijan|BS Bahamas|BH Bahrain|BD Bangladesh
BB Barbados|BY Belarus|BE Belgium|BZ Belize|BJ Benin|BM Bermuda|BT Bhutan|BO Bolivia|BA Bosnia and Herzegovina|BW Botswana
BR Brazil|BN Brunei Darussalam|BN Brunei|BG Bulgaria|BF Burkina Faso|BI Burundi|KH Cambodia|CM Cameroon|CA Canada|CV Cape Verde
KY Cayman Islands|CF Central African Republic|TD Chad|CL Chile|CN China|CO Colombia|KM Comoros|CG Congo|CK Cook Islands|CR Costa Rica
CI Cote d Ivoire|HR Croatia|CU Cuba|CW Curacao|CY Cyprus|CZ Czech Republic|CZ Czechia|DK Denmark|DJ Djibouti|DM Dominica
DO Dominican Republic|EC Ecuador|EG Egypt|SV El Salvador|GQ Equatorial Guinea|ER Eritrea|EE Estonia|SZ Eswatini|ET Ethiopia
FO Faroe Islands|FJ Fiji|FI Finland|FR France|PF French Polynesia|GA Gabon|GM Gambia|GE Georgia|DE Germany|GH Ghana|GI Gibraltar
GR Greece|GL Greenland|GD Grenada|GU Guam|GT Guatemala|GG Guernsey|GN Guinea|GW Guinea Bissau|GY Guyana|HT Haiti|HN Honduras
HK Hong Kong|HU Hungary|IS Iceland|IN India|ID Indonesia|IR Iran|IQ Iraq|IE Ireland|IM Isle of Man|IL Israel|IT Italy|JM Jamaica
JP Japan|JE Jersey|JO Jordan|KZ Kazakhstan|KE Kenya|KR Korea|KR South Korea|KR Republic of Korea|KW Kuwait|KG Kyrgyzstan|LA Laos|LV Latvia
LB Lebanon|LS Lesotho|LR Liberia|LY Libya|LI Liechtenstein|LT Lithuania|LU Luxembourg|MO Macau|MO Macao|MK North Macedonia
MG Madagascar|MW Malawi|MY Malaysia|MV Maldives|ML Mali|MT Malta|MH Marshall Islands|MR Mauritania|MU Mauritius|MX Mexico|FM Micronesia
MD Moldova|MC Monaco|MN Mongolia|ME Montenegro|MS Montserrat|MA Morocco|MZ Mozambique|MM Myanmar|NA Namibia|NR Nauru|NP Nepal
NL Netherlands|NL The Netherlands|NC New Caledonia|NZ New Zealand|NI Nicaragua|NE Niger|NG Nigeria|NO Norway|OM Oman|PK Pakistan
PW Palau|PA Panama|PG Papua New Guinea|PY Paraguay|PE Peru|PH Philippines|PL Poland|PT Portugal|PR Puerto Rico|QA Qatar|RO Romania
RU Russia|RU Russian Federation|RW Rwanda|KN Saint Kitts and Nevis|LC Saint Lucia|VC Saint Vincent and the Grenadines|WS Samoa
SM San Marino|SA Saudi Arabia|SN Senegal|RS Serbia|SC Seychelles|SL Sierra Leone|SG Singapore|SK Slovakia|SI Slovenia
SB Solomon Islands|SO Somalia|ZA South Africa|ES Spain|LK Sri Lanka|SD Sudan|SR Suriname|SE Sweden|CH Switzerland|SY Syria|TW Taiwan
TJ Tajikistan|TZ Tanzania|TH Thailand|TL Timor Leste|TG Togo|TO Tonga|TT Trinidad and Tobago|TN Tunisia|TR Turkey|TM Turkmenistan
TC Turks and Caicos Islands|TV Tuvalu|UG Uganda|UA Ukraine|AE United Arab Emirates|GB United Kingdom|GB England|GB Great Britain
GB Scotland|GB Wales|GB England and Wales|GB Northern Ireland|US United States|US United States of America|UY Uruguay|UZ Uzbekistan
VU Vanuatu|VE Venezuela|VN Vietnam|VN Viet Nam|VG British Virgin Islands|VI Virgin Islands|YE Yemen|ZM Zambia|ZW Zimbabwe
""") | {"people s republic of china": "CN", "federal republic of germany": "DE", "republic of ireland": "IE"}

EDGAR_PLACES = _table(_AMERICA + """
A0 Alberta|A1 British Columbia|A2 Manitoba|A3 New Brunswick|A4 Newfoundland|A4 Newfoundland and Labrador|A5 Nova Scotia|A6 Ontario
A7 Prince Edward Island|A8 Quebec|A9 Saskatchewan|B0 Yukon|Z4 Canada|C1 Argentina|C3 Australia|C4 Austria|C5 Bahamas|C6 Bahrain|C8 Barbados
C9 Belgium|D0 Bermuda|D1 Belize|D5 Brazil|D8 British Virgin Islands|E9 Cayman Islands|F3 Chile|F4 China|F8 Colombia|G4 Cyprus
2N Czech Republic|G7 Denmark|H3 Estonia|H9 Finland|I0 France|2M Germany|J1 Gibraltar|J3 Greece|Y7 Guernsey|K3 Hong Kong|K5 Hungary
K6 Iceland|K7 India|K8 Indonesia|L2 Ireland|Y8 Isle of Man|L3 Israel|L6 Italy|L8 Jamaica|M0 Japan|Y9 Jersey|M5 South Korea|M5 Korea
N4 Luxembourg|N5 Macau|N8 Malaysia|O1 Malta|1T Marshall Islands|O4 Mauritius|O5 Mexico|O9 Monaco|P7 Netherlands|Q2 New Zealand
Q8 Norway|R1 Panama|R5 Peru|R6 Philippines|R9 Poland|S1 Portugal|1Z Russian Federation|1Z Russia|T0 Saudi Arabia|U0 Singapore
T3 South Africa|U3 Spain|V7 Sweden|V8 Switzerland|F5 Taiwan|W1 Thailand|W8 Turkey|C0 United Arab Emirates|X0 United Kingdom|X0 England
X1 United States|X3 Uruguay|X5 Venezuela|Q1 Vietnam
""")

EXCHANGES = _table("""
NYSE New York Stock Exchange|NYSE NYSE|NASDAQ Nasdaq|NASDAQ Nasdaq Stock Market|NASDAQ Nasdaq Global Select Market
NASDAQ Nasdaq Global Market|NASDAQ Nasdaq Capital Market|NASDAQ Nasdaq Stock Exchange|NASDAQ Nasdaq Global Select Stock Market
NYSEAMER NYSE American|NYSEAMER NYSE MKT
NYSEAMER NYSE Amex|NYSEAMER American Stock Exchange|NYSEArca NYSE Arca|CHX Chicago Stock Exchange|CHX NYSE Chicago|CboeBZX Cboe BZX Exchange
CboeBZX Cboe BZX|CboeBYX Cboe BYX Exchange|CboeEDGA Cboe EDGA Exchange|CboeEDGX Cboe EDGX Exchange|CBOE Cboe Exchange
CBOE Chicago Board Options Exchange|BOX BOX Exchange|BX Nasdaq BX|C2 Cboe C2 Exchange|GEMX Nasdaq GEMX|IEX Investors Exchange|ISE Nasdaq ISE
MIAX Miami International Securities Exchange|MRX Nasdaq MRX|PEARL MIAX PEARL|EMERALD MIAX Emerald|NYSENAT NYSE National|NYSE NYSE Euronext
PHLX Nasdaq PHLX|PHLX Philadelphia Stock Exchange|LTSE Long Term Stock Exchange|MEMX MEMX|BSX Boston Stock Exchange
""") | {"nasdaq stock market global select market": "NASDAQ", "nasdaq global select": "NASDAQ"}
