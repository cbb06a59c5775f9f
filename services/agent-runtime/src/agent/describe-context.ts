import type { AnswerContext } from '@uswarm/runtime-proto';
import { visibleText } from '../tools/untrusted-text.js';

const FALLBACK_ZONE = 'UTC';
const MAX_NAME = 100;

const LONG_DATE = { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' } as const;

/** Formats an instant, or nothing when this Node.js does not know the time zone. */
function formatter(timeZone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone, ...options });
  } catch {
    return undefined;
  }
}

function dateLine(nowMs: number, zone: string): string {
  const now = new Date(nowMs);
  const timeZone = formatter(zone || FALLBACK_ZONE, {}) === undefined ? FALLBACK_ZONE : zone || FALLBACK_ZONE;
  const date = formatter(timeZone, LONG_DATE)?.format(now);
  const time = formatter(timeZone, { hour: '2-digit', minute: '2-digit', timeZoneName: 'longOffset' })?.format(now);
  const unknown = zone === '' ? " The user's own time zone is not known." : '';
  return `It is ${date}, ${time}, in the time zone ${timeZone}.${unknown}`;
}

function languageName(tag: string): string {
  try {
    const name = new Intl.DisplayNames('en', { type: 'language' }).of(tag);
    return name === undefined || name === tag ? tag : `${name} (${tag})`;
  } catch {
    return tag;
  }
}

/**
 * States the date and time where the user is, the user's name and language, one sentence per line. Empty when the
 * request has no context.
 */
export function describeContext(context: AnswerContext | undefined): string[] {
  if (context === undefined) return [];
  const { nowMs, timeZone, language, userName } = context;
  const name = visibleText(userName).replaceAll(/\s+/g, ' ').trim().slice(0, MAX_NAME).toWellFormed();
  return [
    dateLine(Number(nowMs), timeZone),
    ...(name === '' ? [] : [`The user's name is ${JSON.stringify(name)}.`]),
    ...(language === ''
      ? []
      : [`The user's language is ${languageName(language)}. Reply in it unless the user writes in another language.`]),
  ];
}
