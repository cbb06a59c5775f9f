import { describe, expect, it } from '@jest/globals';
import { missingPermissions } from './permissions.js';
import { type OwnProvider, PROVIDERS } from './providers.js';

const GOOGLE = 'https://www.googleapis.com/auth/';
const CALENDAR = `${GOOGLE}calendar`;
const [READ, COMPOSE] = [`${GOOGLE}gmail.readonly`, `${GOOGLE}gmail.compose`];

const missing = (provider: OwnProvider, granted: string[] | undefined, scopes = PROVIDERS[provider].scopes) =>
  missingPermissions({ ...PROVIDERS[provider], scopes }, granted);

describe('the permissions of a connection', () => {
  it.each<[string, OwnProvider, string[] | undefined]>([
    ['an answer without scopes, which grants what was requested', 'google_calendar', undefined],
    ['exactly what was requested', 'gmail', [READ, COMPOSE]],
    ['more than was requested, in another order', 'gmail', ['openid', COMPOSE, READ, CALENDAR]],
    [
      'the scope of events, which is all that the tools of the calendar need',
      'google_calendar',
      [`${CALENDAR}.events`],
    ],
    ['the older name of the calendar', 'google_calendar', ['https://www.google.com/calendar/feeds/']],
    ['full access to the mailbox', 'gmail', ['https://mail.google.com/']],
    ['the scope for changes of the mailbox', 'gmail', [`${GOOGLE}gmail.modify`]],
  ])('are complete with %s', (_what, provider, granted) => {
    expect(missing(provider, granted)).toEqual([]);
  });

  it.each<[string, OwnProvider, string[], string[]]>([
    ['the box of the calendar is clear', 'google_calendar', ['openid', `${GOOGLE}userinfo.email`], [CALENDAR]],
    ['the calendar is read-only', 'google_calendar', [`${CALENDAR}.readonly`], [CALENDAR]],
    ['only the calendar is granted for the mailbox', 'gmail', [CALENDAR], [READ, COMPOSE]],
    ['one box of the mailbox is clear', 'gmail', [READ], [COMPOSE]],
    ['only sending is granted', 'gmail', [`${GOOGLE}gmail.send`], [READ, COMPOSE]],
  ])('are incomplete if %s', (_what, provider, granted, expected) => {
    expect(missing(provider, granted)).toEqual(expected);
  });

  it('do not include what the operator does not request', () => {
    expect(missing('google_calendar', [`${CALENDAR}.readonly`], [`${CALENDAR}.readonly`])).toEqual([]);
    expect(missing('google_calendar', ['openid'], ['openid', 'offline_access'])).toEqual([]);
  });
});
