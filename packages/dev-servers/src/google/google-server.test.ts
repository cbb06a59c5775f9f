import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type GoogleServer, startGoogleServer } from './google-server.js';

const EVENT = { summary: 'Dentist', start: { date: '2030-01-01' }, end: { date: '2030-01-02' } };

describe('the server of Google with several accounts', () => {
  let google: GoogleServer;
  beforeEach(async () => {
    google = await startGoogleServer({ accountOf: (token) => Promise.resolve(`account of ${token}`) });
  });
  afterEach(() => google.close());

  const insert = (token: string): Promise<Response> =>
    fetch(`${google.url}/calendar/v3/calendars/primary/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(EVENT),
    });
  const titles = (token: string) =>
    [...google.account(`account of ${token}`).calendar.events.values()].map(({ summary }) => summary);

  it('stores an event in the account of the token', async () => {
    expect((await insert('a')).status).toBe(200);
    expect({ a: titles('a'), b: titles('b') }).toEqual({ a: ['Dentist'], b: [] });
    expect(google.account('account of a').requests).toEqual(['calendar.events.insert']);
  });

  it('has faults per account', async () => {
    google.account('account of a').failNext('calendar.events.insert', { kind: 'refuse', status: 503, reason: 'x' });
    expect([(await insert('b')).status, (await insert('a')).status, (await insert('a')).status]).toEqual([
      200, 503, 200,
    ]);
  });
});
