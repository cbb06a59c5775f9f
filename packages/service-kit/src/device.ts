import { createHash } from 'node:crypto';

/** The installation of the app that a request comes from, as far as its headers say. */
export interface Device {
  /** Empty where the client names none. */
  id: string;
  info: string;
  /** The version of the app. */
  version: string;
  /** An IANA name; empty where the client sent none that exists. */
  timezone: string;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Longer ones are left out: what was cut off an id could be another one. */
const ID_CHARACTERS = 128;
const INFO_CHARACTERS = 300;
const VERSION_CHARACTERS = 40;
const LOGGED_ID_CHARACTERS = 12;

/**
 * Reads the headers by which a client describes its device, of HTTP or of a socket's handshake. They never
 * fail a request: what is unusable counts as not sent.
 *
 * spec: orchestrator §5
 */
export function readDevice(headers: Headers): Device {
  const id = plainText(headers['x-device-id']);
  return {
    id: id.length > ID_CHARACTERS ? '' : id,
    info: shortened(plainText(headers['x-device-info']), INFO_CHARACTERS),
    version: shortened(plainText(headers['x-version']), VERSION_CHARACTERS),
    timezone: knownTimezone(plainText(headers['x-timezone'])),
  };
}

/** Whether the headers say anything at all. */
export function isDescribed({ id, info, version, timezone }: Device): boolean {
  return id !== '' || info !== '' || version !== '' || timezone !== '';
}

/**
 * What a log may show of a device. The id is a hash of it, and of the description only the platform: people
 * give their phones their own names.
 */
export function deviceLogFields(device: Device): Record<string, string> {
  const { id, info, version, timezone } = device;
  return {
    ...(id === '' ? {} : { device: hashed(id) }),
    ...(info === '' ? {} : { platform: platformOf(info) }),
    // Versions have a form; a text that has another one may be anything.
    ...(/^v?\d[\w.+-]*$/.test(version) ? { appVersion: version } : {}),
    ...(timezone === '' ? {} : { timezone }),
  };
}

function hashed(id: string): string {
  return createHash('sha256').update(`device ${id}`).digest('hex').slice(0, LOGGED_ID_CHARACTERS);
}

function platformOf(info: string): string {
  if (/iphone|ipad|ios/i.test(info)) return 'ios';
  if (/android/i.test(info)) return 'android';
  return 'other';
}

/** One line of well-formed text, without anything that does not print. */
function plainText(value: string | string[] | undefined): string {
  if (typeof value !== 'string') return '';
  return value
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim();
}

function shortened(text: string, characters: number): string {
  return text.slice(0, characters).toWellFormed();
}

/** Clients send few different ones, and asking for one costs more than remembering it. */
const timezones = new Map<string, string>();
const REMEMBERED_TIMEZONES = 1_000;

function knownTimezone(name: string): string {
  if (name === '' || name.length > 64) return '';
  const known = timezones.get(name);
  if (known !== undefined) return known;
  const resolved = resolveTimezone(name);
  if (timezones.size < REMEMBERED_TIMEZONES) timezones.set(name, resolved);
  return resolved;
}

function resolveTimezone(name: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return '';
  }
}
