import { createHash } from 'node:crypto';
import { canonicalTimeZone } from '@uswarm/contract/time-zones';
import { UNPRINTABLE } from './unsafe-characters.js';

/** The app installation that sent a request, as described by its headers. */
export interface Device {
  /** Empty if the client sent none. */
  id: string;
  info: string;
  /** App version. */
  version: string;
  /** An IANA name or a UTC offset, as `canonicalTimeZone` writes it; empty if the client sent no valid one. */
  timezone: string;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Longer ids are ignored: a truncated id could equal another one. */
const ID_CHARACTERS = 128;
const INFO_CHARACTERS = 300;
const VERSION_CHARACTERS = 40;
const LOGGED_ID_CHARACTERS = 12;

/**
 * Reads the device headers from an HTTP request or a socket handshake. Invalid values never fail a request: they count
 * as not sent.
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

/** False if no device header was sent. */
export function isDescribed({ id, info, version, timezone }: Device): boolean {
  return id !== '' || info !== '' || version !== '' || timezone !== '';
}

/**
 * The loggable device fields: a hash of the id, and only the platform of the description, because it can contain a name
 * that the user chose.
 */
export function deviceLogFields(device: Device): Record<string, string> {
  const { id, info, version, timezone } = device;
  return {
    ...(id === '' ? {} : { device: hashed(id) }),
    ...(info === '' ? {} : { platform: platformOf(info) }),
    // Text in any other format could contain personal data.
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

/** One line of well-formed text without control, format and separator characters. */
function plainText(value: string | string[] | undefined): string {
  if (typeof value !== 'string') return '';
  return value.toWellFormed().replaceAll(UNPRINTABLE, '').trim();
}

function shortened(text: string, characters: number): string {
  return text.slice(0, characters).toWellFormed();
}

/** A cache: clients send few different names, and validating one is expensive. */
const timezones = new Map<string, string>();
const TIMEZONE_CACHE_SIZE = 1_000;
const MAX_CACHED_NAME = 100;

function knownTimezone(name: string): string {
  if (name === '') return '';
  const known = timezones.get(name);
  if (known !== undefined) return known;
  const resolved = canonicalTimeZone(name) ?? '';
  if (timezones.size < TIMEZONE_CACHE_SIZE && name.length <= MAX_CACHED_NAME) timezones.set(name, resolved);
  return resolved;
}
