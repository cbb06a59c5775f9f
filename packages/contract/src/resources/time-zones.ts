import { FURTHER_ZONE_NAMES } from './further-zone-names.js';
import { WINDOWS_ZONES } from './windows-zones.js';

const ZONE_OF_NAME = new Map(Object.entries({ ...WINDOWS_ZONES, ...FURTHER_ZONE_NAMES }));

/** Longer texts name no zone. A Java time zone's description has about 250. */
const MAX_CHARACTERS = 500;

/** Names of UTC that neither IANA nor CLDR lists. */
const UTC_NAMES = /^(?:z|ut|utc ?0|coordinated universal time)$/i;

/**
 * A sign with hours and minutes, also after the name of UTC: `+05:30`, `GMT+0530`, `UTC-3`. In `GMT 05:30`, the plus
 * sign was decoded as a space in a query string.
 */
const OFFSET =
  /^(?:(?:utc|gmt|ut)?\s*(?<sign>[+\-\u2010-\u2015\u2212\u00b1])\s*|(?:utc|gmt)\s(?=\d))(?<hours>\d{1,2})(?:[:.]?(?<minutes>[0-5]\d)(?::?00)?)?$/i;

/** Hours and minutes, or the minutes of `getTimezoneOffset` in JavaScript, which are positive west of UTC. */
const AMBIGUOUS_OFFSET = /^[+\-\u2010-\u2015\u2212\u00b1]\d{3}$/;

const MINUTES_WEST = 12 * 60;
const MINUTES_EAST = 14 * 60;

/**
 * The zone that a text names, as Intl knows it: an IANA name, which follows daylight saving time, or an offset such as `+05:30`.
 * Clients also send Windows names and abbreviations, in several spellings. A positive offset is east of UTC; only IANA names such
 * as `Etc/GMT-5` have the opposite sign.
 *
 * @returns undefined if the text names no zone
 */
export function canonicalTimeZone(text: string): string | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  const name = unwrapped(text);
  return zoneNamed(name) ?? zoneBeside(name);
}

function zoneNamed(name: string): string | undefined {
  if (UTC_NAMES.test(name)) return 'UTC';
  if (AMBIGUOUS_OFFSET.test(name)) return undefined;
  const { sign = '+', hours, minutes = '00' } = OFFSET.exec(name)?.groups ?? {};
  if (hours !== undefined) return offset(sign, hours, minutes);
  return intlZone(ZONE_OF_NAME.get(windowsName(name)) ?? name.replaceAll(' ', '_'));
}

/**
 * The zone in a description with parentheses: `Europe/Berlin (GMT+1)`, `GMT+0200 (Central European Summer Time)`,
 * `(GMT+01:00) Europe/Berlin`. For `(UTC+01:00) Berlin, Rome`, it is the offset, because no zone has that name.
 */
function zoneBeside(name: string): string | undefined {
  const [, before = '', first = '', after = ''] = /^([^()]+)\(.*$|^\(([^()]+)\)(.*)$/s.exec(name) ?? [];
  return [before, after, first].map((part) => zoneNamed(part.trim())).find((zone) => zone !== undefined);
}

/**
 * The name without percent encoding, quotation marks, escaped slashes and the zone database folder. For a Java
 * date-time, it is the zone in brackets; for a Java time zone, its `id`.
 */
function unwrapped(text: string): string {
  const [, id] = /\[id="([^"]+)"/.exec(text) ?? [];
  const [, inBrackets] = /\[([^[\]]+)\]\s*$/.exec(text) ?? [];
  return percentDecoded(id ?? inBrackets ?? text)
    .replace(/^[\s"'`\u2018-\u201f]+|[\s"'`\u2018-\u201f]+$/g, '')
    .replaceAll(/\\\/?/g, '/')
    .replace(/^:?(?:\S*\/zoneinfo\/)?(?:(?:posix|right)\/)?/, '');
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Undefined for an offset that no zone has. */
function offset(sign: string, hours: string, minutes: string): string | undefined {
  const total = Number(hours) * 60 + Number(minutes);
  if (total === 0) return 'UTC';
  if (sign === '\u00b1') return undefined;
  const isEast = sign === '+';
  if (total > (isEast ? MINUTES_EAST : MINUTES_WEST)) return undefined;
  return `${isEast ? '+' : '-'}${hours.padStart(2, '0')}:${minutes}`;
}

/** Windows names a zone after its standard time, but shows another name in summer. */
function windowsName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[\s_+]+/g, ' ')
    .replace(/\b(?:daylight|summer) time\b/, 'standard time');
}

function intlZone(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
