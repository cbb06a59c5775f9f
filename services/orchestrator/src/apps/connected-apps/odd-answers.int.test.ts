import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { type GoogleServer, startGoogleServer } from '@uswarm/dev-servers';
import { NO_TRANSACTION } from '../../../test/transaction.js';
import type { PlatformTool, ToolCall, ToolOutcome } from '../../turns/tools/platform-tool.js';
import { createGmailTools } from './gmail-tools.js';
import { createCalendarTools } from './google-calendar-tools.js';
import { createProviderApi, type ProviderApi } from './provider-api.js';

const CALL = { id: 'c1', userId: 'u', signal: new AbortController().signal } as ToolCall;
const MONDAY = { start: '2026-11-23T10:00:00Z', end: '2026-11-23T11:00:00Z' };
const LETTER = [
  'From: Bob <bob@example.com>',
  'Subject: Lunch',
  'Message-ID: <lunch@example.com>',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<p>Are you <b>free</b> on Tuesday?</p>',
].join('\r\n');

let server: GoogleServer;
let apis: ProviderApi[];
let tools: PlatformTool[];
beforeEach(async () => {
  server = await startGoogleServer();
  const [calendar, gmail] = ['/calendar/v3', ''].map((path) =>
    createProviderApi({ proxy: DIRECT, baseUrl: `${server.url}${path}`, accessToken: async () => 'token' }),
  ) as [ProviderApi, ProviderApi];
  apis = [calendar, gmail];
  tools = [...createCalendarTools({ api: calendar, timeZone: async () => '' }), ...createGmailTools({ api: gmail })];
});
afterEach(async () => {
  for (const api of apis) await api.close();
  await server.close();
});

const toolOf = (name: string): PlatformTool => tools.find((tool) => tool.name === name)!;
async function read(name: string, input: unknown): Promise<ToolOutcome> {
  const tool = toolOf(name);
  if (!('prepare' in tool)) throw new Error(`${name} changes something`);
  return (await tool.prepare(input, CALL))(NO_TRANSACTION);
}
async function change(name: string, input: unknown): Promise<ToolOutcome> {
  const tool = toolOf(name);
  if (!('send' in tool)) throw new Error(`${name} changes nothing`);
  const plan = await tool.plan(input, CALL);
  return 'outcome' in plan ? plan.outcome : tool.send(input, plan.key, CALL);
}

describe('the calendar tools with odd answers', () => {
  const event = (summary: string, { start, end }: typeof MONDAY) =>
    server.calendar.add({ summary, start: { dateTime: start }, end: { dateTime: end } });
  const week = { from: MONDAY.start, to: MONDAY.end };
  const listed = async () => (await read('list_calendar_events', week)).text.split('\n');
  const addEntries = (entries: unknown[]) =>
    server.alter('calendar.events.list', (answer) => {
      const { items } = answer as { items: unknown[] };
      return { items: [...entries, ...items], nextPageToken: null };
    });

  it.each([
    ['an attendee without a mail address', { attendees: [{ displayName: 'Room 4', resource: true }] }, 'Room 4'],
    ['attendees of other types', { attendees: [null, 'ada', { email: 5 }, { email: 'a@b.c' }] }, 'a@b.c'],
    ['attendees that are null', { attendees: null }, '(no title)'],
    ['fields that are null', { summary: null, description: null, location: null, etag: null, status: null }, 'odd'],
    ['times that are null', { start: null, end: { dateTime: null, date: 5 } }, '"start":""'],
    ['texts of other types', { summary: 5, location: ['x'], description: { html: 'x' } }, '(no title)'],
  ])('list an event that has %s, and the others', async (_what, fields, part) => {
    event('Standup', MONDAY);
    addEntries([{ id: 'odd', ...fields }]);
    const lines = await listed();
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain(part);
    expect(lines[1]).toContain('Standup');
  });

  it('leave out entries without an id, and state how many', async () => {
    event('Standup', MONDAY);
    addEntries([null, { summary: 'No id' }]);
    const lines = await listed();
    expect(lines[0]).toContain('Standup');
    expect(lines.slice(1)).toEqual(['2 events could not be read and are missing here.']);
  });

  it('list no events if the list is null', async () => {
    server.alter('calendar.events.list', () => ({ items: null }));
    expect(await listed()).toEqual(['There are no events.']);
  });

  it('name attendees without a mail address in the preview of a change', async () => {
    const { id } = event('Standup', MONDAY);
    server.alter('calendar.events.get', (answer) => ({
      ...(answer as object),
      attendees: [{ displayName: 'Room 4' }],
    }));
    const { changes } = await toolOf('delete_calendar_event').preview({ event_id: id }, CALL);
    expect(changes).toContainEqual({ label: 'Informs', after: 'Room 4' });
  });

  it('change no event whose version is unknown', async () => {
    const { id } = event('Standup', MONDAY);
    server.alter('calendar.events.get', (answer) => ({ ...(answer as object), etag: null }));
    expect(await change('delete_calendar_event', { event_id: id })).toMatchObject({ failed: true });
    expect(server.calendar.events.get(id)?.status).toBe('confirmed');
  });

  it.each([200, 302, 403, 404, 407, 511])(
    'repeat a read that a proxy answered with a page and status %i',
    async (status) => {
      event('Standup', MONDAY);
      server.failNext('calendar.events.list', { kind: 'page', status });
      expect(await listed()).toEqual([expect.stringContaining('Standup')]);
    },
  );

  it('do not take the page of a proxy for a created event', async () => {
    server.failNext('calendar.events.insert', { kind: 'page', status: 200 });
    await expect(change('create_calendar_event', { title: 'x', ...MONDAY })).rejects.toThrow('not from the API');
  });
});

describe('the mail tools with odd answers', () => {
  it('find and read mails although some entries and fields are odd', async () => {
    const { id } = await server.mailbox.receive(LETTER);
    server.alter('gmail.users.messages.list', (answer) => {
      const { messages } = answer as { messages: unknown[] };
      return { messages: [null, { id: null }, { id: 'deleted-meanwhile' }, ...messages] };
    });
    server.alter('gmail.users.messages.get', (answer) => {
      const { payload, ...others } = answer as { payload: { headers: unknown[]; parts?: unknown[] } };
      const headers = [null, { name: 'X-Odd', value: null }, ...payload.headers];
      const parts = [null, 'part', { mimeType: null, body: null, parts: null }, ...(payload.parts ?? [])];
      return { ...others, threadId: null, snippet: null, payload: { ...payload, headers, parts, filename: null } };
    });
    const [first = '', ...rest] = (await read('search_mail', { query: 'from:bob' })).text.split('\n');
    expect(JSON.parse(first)).toMatchObject({ mail_id: id, subject: 'Lunch', beginning: '' });
    expect(rest).toEqual(['3 mails could not be read and are missing here.']);
    expect((await read('read_mail', { mail_id: id })).text).toContain('Are you free on Tuesday?');
  });
});
