import type { AnswerContext } from '@uswarm/runtime-proto';
import { visibleText } from '@uswarm/service-kit';

const FALLBACK_ZONE = 'UTC';
const MAX_NAME = 100;
const LANGUAGE_TAG = /^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$/;

const LONG_DATE = { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' } as const;

const TIME = { hour: '2-digit', minute: '2-digit', timeZoneName: 'longOffset' } as const;

interface ZoneFormats {
  timeZone: string;
  date: Intl.DateTimeFormat;
  time: Intl.DateTimeFormat;
}

function formatsOf(timeZone: string): ZoneFormats {
  return {
    timeZone,
    date: new Intl.DateTimeFormat('en-GB', { timeZone, ...LONG_DATE }),
    time: new Intl.DateTimeFormat('en-GB', { timeZone, ...TIME }),
  };
}

/** Formats are slow to create. A runtime has one user, whose zone rarely changes. */
let last: { zone: string; formats: ZoneFormats } | undefined;

/** In the zone itself, or in UTC if it is empty or unknown to Node.js. */
function formatsIn(zone: string): ZoneFormats {
  if (last?.zone === zone) return last.formats;
  let formats: ZoneFormats;
  try {
    formats = formatsOf(zone);
  } catch {
    formats = formatsOf(FALLBACK_ZONE);
  }
  last = { zone, formats };
  return formats;
}

function dateLine(nowMs: number, zone: string): string {
  const { timeZone, date, time } = formatsIn(zone);
  const unknown = zone === '' ? " The user's own time zone is not known." : '';
  return `It is ${date.format(nowMs)}, ${time.format(nowMs)}, in the time zone ${timeZone}.${unknown}`;
}

function languageName(tag: string): string {
  try {
    const name = new Intl.DisplayNames('en', { type: 'language' }).of(tag);
    return name === undefined || name === tag ? tag : `${name} (${tag})`;
  } catch {
    return tag;
  }
}

/** The name in one line. Without angle brackets, so that it cannot end the block around it. */
function shownName(userName: string): string {
  const line = visibleText(userName).replaceAll(/[<>]/g, '').replaceAll(/\s+/g, ' ');
  return line.trim().slice(0, MAX_NAME).toWellFormed();
}

/**
 * States the user's local date and time, name and language, one sentence per line. Empty if the request has no context.
 */
export function describeContext(context: AnswerContext | undefined): string[] {
  if (context === undefined) return [];
  const { nowMs, timeZone, language, userName } = context;
  const name = shownName(userName);
  return [
    dateLine(Number(nowMs), timeZone),
    ...(name === '' ? [] : [`The user's name is ${JSON.stringify(name)}.`]),
    ...(LANGUAGE_TAG.test(language)
      ? [`The user's language is ${languageName(language)}. Reply in it unless the user writes in another language.`]
      : []),
  ];
}
