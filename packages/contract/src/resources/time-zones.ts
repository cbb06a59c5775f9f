import { WINDOWS_ZONES } from './windows-zones.js';

const ZONE_OF_WINDOWS = new Map(Object.entries(WINDOWS_ZONES));

/** Longer texts name no zone. */
const MAX_CHARACTERS = 100;

/** Names of UTC that neither IANA nor CLDR lists. */
const UTC_NAMES = /^(?:z|ut|coordinated universal time)$/i;

/** A sign with hours and minutes, also after the name of UTC: `+05:30`, `GMT+0530`, `UTC-3`. */
const OFFSET = /^(?:utc|gmt|ut)?\s*([+\-\u2212])\s*(\d{1,2})(?::?([0-5]\d))?(?::00)?$/i;

/** Hours and minutes, or the minutes of `getTimezoneOffset` in JavaScript, which are positive west of UTC. */
const AMBIGUOUS_OFFSET = /^[+\-\u2212]\d{3}$/;

const MINUTES_WEST = 12 * 60;
const MINUTES_EAST = 14 * 60;

/**
 * The zone that a text names, as Intl knows it: an IANA name, which follows daylight saving time, or an offset such as `+05:30`.
 * Clients send both, and the names of Windows, in several spellings. An offset is east of UTC if it is positive; only the
 * IANA names `Etc/GMT-5` and alike have the opposite sign.
 *
 * @returns undefined if the text names no zone
 */
export function canonicalTimeZone(text: string): string | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  const name = unwrapped(text);
  if (UTC_NAMES.test(name)) return 'UTC';
  if (AMBIGUOUS_OFFSET.test(name)) return undefined;
  const [, sign, hours = '', minutes = '00'] = OFFSET.exec(name) ?? [];
  if (sign !== undefined) return offset(sign === '+', hours, minutes);
  return intlZone(ZONE_OF_WINDOWS.get(windowsName(name)) ?? name.replaceAll(' ', '_'));
}

/** The name without percent encoding, quotation marks and escaped slashes; of a Java date-time, the zone in brackets. */
function unwrapped(text: string): string {
  const [, inBrackets] = /\[([^[\]]+)\]\s*$/.exec(text) ?? [];
  return percentDecoded(inBrackets ?? text)
    .replace(/^[\s"'`\u2018-\u201f]+|[\s"'`\u2018-\u201f]+$/g, '')
    .replaceAll(/\\\/?/g, '/');
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Undefined for an offset that no zone has. */
function offset(isEast: boolean, hours: string, minutes: string): string | undefined {
  const total = Number(hours) * 60 + Number(minutes);
  if (total === 0) return 'UTC';
  if (total > (isEast ? MINUTES_EAST : MINUTES_WEST)) return undefined;
  return `${isEast ? '+' : '-'}${hours.padStart(2, '0')}:${minutes}`;
}

/** Windows uses the name of the standard time for the zone, and shows another one in summer. */
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
