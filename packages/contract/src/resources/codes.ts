import { z } from 'zod';
import { canonicalTimeZone } from './time-zones.js';

/** Codes from other standards, as of 2026. New codes are additions, so they do not break clients. */

const words = (text: string): [string, ...string[]] => text.trim().split(/\s+/) as [string, ...string[]];

const COUNTRIES = `
  AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
  CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO
  FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE
  JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO
  MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW
  PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM
  TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW`;

const CURRENCIES = `
  AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF
  CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG
  HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA
  MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD
  RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX
  USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG`;

/** ISO 3166-1 alpha-2; empty if unknown. */
export const CountryCode = z
  .enum([...words(COUNTRIES), ''], 'must be an ISO 3166-1 alpha-2 code, or empty')
  .meta({ id: 'CountryCode', description: 'An ISO 3166-1 alpha-2 code such as `GB`; empty if unknown.' });

/** ISO 4217 without metals and units of account. */
export const CurrencyCode = z
  .enum(words(CURRENCIES), 'must be an ISO 4217 code')
  .meta({ id: 'CurrencyCode', description: 'An ISO 4217 code such as `EUR`.' });

/**
 * The syntax of BCP 47 without grandfathered tags: language, script, region, variants, extensions, private use. Mobile systems
 * write locales with underscores.
 */
const LANGUAGE_TAG =
  /^[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|\d{3}))?([-_]([A-Za-z\d]{5,8}|\d[A-Za-z\d]{3}))*([-_][A-WY-Za-wy-z\d]([-_][A-Za-z\d]{2,8})+)*([-_][Xx]([-_][A-Za-z\d]{1,8})+)?$/;

/** BCP 47 in canonical form: `EN-gb` and `en_GB` become `en-GB`. */
export const LanguageTag = z
  .string()
  .max(35)
  .regex(LANGUAGE_TAG, 'must be a BCP 47 language tag')
  .refine((tag) => canonicalLanguage(tag) !== undefined, 'must be a BCP 47 language tag')
  .meta({
    id: 'LanguageTag',
    description: 'BCP 47, also with underscores (`en_US`); returned in canonical form (`en-US`).',
  });

/** A time zone as clients name it; stored and returned as `canonicalTimeZone` writes it. */
export const TimeZone = z
  .string()
  .max(64)
  .refine(
    (name) => name === '' || canonicalTimeZone(name) !== undefined,
    'must be a time zone: an IANA name, a UTC offset or a Windows name',
  )
  .meta({
    id: 'TimeZone',
    description:
      'IANA time zone name, or a UTC offset such as `+05:30`; empty if unknown. Also accepts Windows names and spellings such as `GMT+5:30`; returned in canonical form.',
  });

/** Undefined for an invalid tag, such as one with a repeated variant. */
export function canonicalLanguage(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag.replaceAll('_', '-'))[0];
  } catch {
    return undefined;
  }
}
