import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { ApiError } from '@uswarm/contract';
import { type GoogleServer, startGoogleServer } from '@uswarm/dev-servers';
import { NO_TRANSACTION } from '../../../test/transaction.js';
import type { PlatformTool, ToolCall, ToolOutcome } from '../../turns/tools/platform-tool.js';
import { createGmailTools } from './gmail-tools.js';
import { createCalendarTools } from './google-calendar-tools.js';
import { createProviderApi, type ProviderApi } from './provider-api.js';

const CALL: ToolCall = {
  id: 'c1',
  turnId: 't',
  workspaceId: 'w',
  userId: 'u',
  agentId: 'a',
  conversationId: 'c',
  depth: 0,
  userMessageId: 'm',
  answer: { turnId: 't', inReplyTo: 'm' },
  signal: new AbortController().signal,
};
const MONDAY = { start: '2026-11-23T10:00:00+13:00', end: '2026-11-23T11:00:00+13:00' };
const TUESDAY = { start: '2026-11-24T10:00:00+13:00', end: '2026-11-24T11:00:00+13:00' };

let server: GoogleServer;
let apis: ProviderApi[];
let tools: PlatformTool[];
let connected: boolean;

beforeEach(async () => {
  server = await startGoogleServer();
  connected = true;
  const accessToken = async () => {
    if (!connected) throw new ApiError('integration_not_found');
    return 'token';
  };
  const [calendar, gmail] = ['/calendar/v3', ''].map((path) =>
    createProviderApi({ proxy: DIRECT, baseUrl: `${server.url}${path}`, accessToken, timeoutMs: 3_000 }),
  ) as [ProviderApi, ProviderApi];
  apis = [calendar, gmail];
  tools = [
    ...createCalendarTools({ api: calendar, timeZone: async () => 'Pacific/Auckland' }),
    ...createGmailTools({ api: gmail }),
  ];
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

/** Plans and sends a call. With `key`, sends it again after an earlier attempt. */
async function change(name: string, input: unknown, key?: string): Promise<ToolOutcome & { key?: string }> {
  const tool = toolOf(name);
  if (!('send' in tool)) throw new Error(`${name} changes nothing`);
  const plan = key === undefined ? await tool.plan(input, CALL) : { key };
  if ('outcome' in plan) return plan.outcome;
  return { ...(await tool.send(input, plan.key, CALL)), key: plan.key };
}

const planOf = async (name: string, input: unknown): Promise<string> => {
  const tool = toolOf(name);
  const plan = 'send' in tool ? await tool.plan(input, CALL) : undefined;
  if (plan === undefined || 'outcome' in plan) throw new Error('the call is not sent');
  return plan.key;
};

const event = (summary: string, { start, end }: typeof MONDAY) =>
  server.calendar.add({ summary, start: { dateTime: start }, end: { dateTime: end } });
const shown = () =>
  [...server.calendar.events.values()].map(({ summary, start, status }) => [
    summary,
    start.dateTime ?? start.date,
    status,
  ]);

describe('the calendar tools', () => {
  it('list the events of a time, in order', async () => {
    event('Later', TUESDAY);
    const { id } = event('Standup', MONDAY);
    const { text } = await read('list_calendar_events', { from: MONDAY.start, to: TUESDAY.end });
    expect(text.split('\n').map((line) => JSON.parse(line))).toMatchObject([
      { event_id: id, title: 'Standup', start: MONDAY.start, end: MONDAY.end },
      { title: 'Later' },
    ]);
    const none = { from: '2027-01-01T00:00:00Z', to: '2027-01-02T00:00:00Z' };
    expect(await read('list_calendar_events', none)).toEqual({ text: 'There are no events.', failed: false });
    expect((await read('list_calendar_events', { ...none, from: MONDAY.start, query: 'stand' })).text).toContain(id);
  });

  it('list events of any size in a text of limited length', async () => {
    const attendees = Array.from({ length: 300 }, (_, n) => ({ email: `guest-${n}@example.com` }));
    const times = { start: { dateTime: MONDAY.start }, end: { dateTime: MONDAY.end } };
    for (let n = 0; n < 30; n += 1)
      server.calendar.add({ summary: 'x'.repeat(5_000), location: 'y'.repeat(5_000), attendees, ...times });
    const { text } = await read('list_calendar_events', { from: MONDAY.start, to: TUESDAY.end });
    expect(text.length).toBeLessThan(25_000);
    const [line = ''] = text.split('\n');
    expect(JSON.parse(line)).toMatchObject({ other_attendees: 280 });
    expect(text).toContain('There are more events. Ask for a shorter time.');
  });

  it('create an event once, however often the request is sent', async () => {
    const input = { title: 'Dentist', ...MONDAY, attendees: ['bob@example.com'], location: 'Main Street' };
    const { key, ...outcome } = await change('create_calendar_event', input);
    expect(outcome).toEqual({ text: `Created the event ${key}.`, failed: false });
    expect(await change('create_calendar_event', input, key)).toMatchObject(outcome);
    expect(shown()).toEqual([['Dentist', MONDAY.start, 'confirmed']]);
    expect(server.calendar.notified).toEqual(['bob@example.com']);
  });

  it('create an all-day event', async () => {
    await change('create_calendar_event', { title: 'Holiday', start: '2026-12-24', end: '2026-12-25' });
    expect(shown()).toEqual([['Holiday', '2026-12-24', 'confirmed']]);
    expect(await change('create_calendar_event', { title: 'x', start: '2026-12-24', end: MONDAY.end })).toMatchObject({
      failed: true,
      text: expect.stringContaining('both dates'),
    });
  });

  it('move an event that has not changed, once', async () => {
    const { id } = event('Standup', MONDAY);
    const input = { event_id: id, ...TUESDAY };
    const first = await change('move_calendar_event', input);
    expect(first).toMatchObject({ text: `Moved the event ${id}.`, failed: false });
    expect(await change('move_calendar_event', input, first.key)).toMatchObject({ failed: false });
    expect(shown()).toEqual([['Standup', TUESDAY.start, 'confirmed']]);
  });

  it('do not overwrite a change of the user', async () => {
    const { id } = event('Standup', MONDAY);
    const input = { event_id: id, ...TUESDAY };
    const key = await planOf('move_calendar_event', input);
    await change('move_calendar_event', { event_id: id, start: '2026-12-01T10:00:00Z', end: '2026-12-01T11:00:00Z' });
    expect(await change('move_calendar_event', input, key)).toMatchObject({
      failed: true,
      text: expect.stringContaining('was changed in Google Calendar in the meantime'),
    });
    expect(await change('delete_calendar_event', { event_id: id }, key)).toMatchObject({ failed: true });
    expect(shown()).toEqual([['Standup', '2026-12-01T10:00:00Z', 'confirmed']]);
  });

  it('delete an event once', async () => {
    const { id } = event('Standup', MONDAY);
    const first = await change('delete_calendar_event', { event_id: id });
    expect(first).toMatchObject({ text: `Deleted the event ${id}.`, failed: false });
    expect(await change('delete_calendar_event', { event_id: id }, first.key)).toMatchObject({ failed: false });
    expect(await change('delete_calendar_event', { event_id: id })).toMatchObject({
      failed: true,
      text: 'The event was deleted already.',
    });
    expect(shown()).toEqual([['Standup', MONDAY.start, 'cancelled']]);
  });

  it('find out what a request changed, without a change', async () => {
    const lookUp = async (name: string, input: unknown, key: string) => {
      const tool = toolOf(name);
      if (!('send' in tool)) throw new Error(`${name} changes nothing`);
      const before = server.requests.length;
      const outcome = await tool.lookUp(input, key, CALL);
      expect(server.requests.slice(before).filter((method) => !method.endsWith('.get'))).toEqual([]);
      return outcome;
    };
    const dentist = { title: 'Dentist', ...MONDAY };
    const created = await change('create_calendar_event', dentist);
    const found = { text: `Created the event ${created.key}.`, failed: false };
    expect(await lookUp('create_calendar_event', dentist, created.key!)).toEqual(found);
    expect(await lookUp('create_calendar_event', dentist, 'none')).toBeUndefined();
    const { id } = event('Standup', MONDAY);
    for (const [name, input] of [
      ['move_calendar_event', { event_id: id, ...TUESDAY }],
      ['delete_calendar_event', { event_id: id }],
    ] as const) {
      const key = await planOf(name, input);
      expect(await lookUp(name, input, key)).toBeUndefined();
      const { key: _, ...outcome } = await change(name, input, key);
      expect(await lookUp(name, input, key)).toEqual(outcome);
    }
    await change('delete_calendar_event', { event_id: created.key });
    expect(await lookUp('create_calendar_event', dentist, created.key!)).toEqual(found);
  });

  it('show the user what changes, in the time zone of the user', async () => {
    const { id } = event('Standup', MONDAY);
    expect(await toolOf('move_calendar_event').preview({ event_id: id, ...TUESDAY }, CALL)).toEqual({
      title: 'Moving an event',
      changes: [
        { label: 'Event', after: 'Standup' },
        {
          label: 'Time',
          before: expect.stringMatching(/^Monday.*23 November 2026.*10:00 \(Pacific\/Auckland\) to .*11:00/),
          after: expect.stringMatching(/^Tuesday.*24 November 2026.*10:00/),
        },
      ],
    });
  });

  it('report an unknown event, a missing connection, and a refusal', async () => {
    expect(await change('delete_calendar_event', { event_id: 'none' })).toEqual({
      text: 'Google Calendar has no such entry. Nothing was changed.',
      failed: true,
    });
    server.failNext('calendar.events.insert', { kind: 'refuse', status: 403, reason: 'insufficientPermissions' });
    const refused = await change('create_calendar_event', { title: 'x', ...MONDAY });
    expect(refused.text).toContain('has not allowed this in Google Calendar: the connection lacks the permission');
    connected = false;
    const { text, message } = await read('list_calendar_events', { from: MONDAY.start, to: MONDAY.end });
    expect(text).toContain('has not connected Google Calendar');
    expect(message?.content).toMatchObject({ type: 'action_card', title: 'Google Calendar is not connected' });
  });

  it('repeat reads that fail for a moment', async () => {
    event('Standup', MONDAY);
    server.failNext('calendar.events.list', { kind: 'refuse', status: 429, reason: 'rateLimitExceeded' });
    expect((await read('list_calendar_events', { from: MONDAY.start, to: MONDAY.end })).text).toContain('Standup');
    server.failNext('calendar.events.list', { kind: 'refuse', status: 403, reason: 'userRateLimitExceeded' });
    expect((await read('list_calendar_events', { from: MONDAY.start, to: MONDAY.end })).text).toContain('Standup');
    server.failNext('calendar.events.list', { kind: 'refuse', status: 503, reason: 'backendError' });
    expect((await read('list_calendar_events', { from: MONDAY.start, to: MONDAY.end })).failed).toBe(false);
  });

  it.each(['lose-request', 'lose-answer', 'hang'] as const)('are uncertain about a write after %s', async (kind) => {
    server.failNext('calendar.events.insert', { kind });
    await expect(change('create_calendar_event', { title: 'x', ...MONDAY })).rejects.toThrow('no answer');
    expect(shown()).toHaveLength(kind === 'lose-request' ? 0 : 1);
  });
});

describe('the mail tools', () => {
  const LETTER = [
    'From: Bob <bob@example.com>',
    'To: ada@example.com',
    'Subject: Lunch',
    'Message-ID: <lunch@example.com>',
    'Date: Mon, 23 Nov 2026 09:00:00 +0000',
    'Content-Type: text/html; charset=utf-8',
    '',
    '<p>Are you <b>free</b> on Tuesday?</p>',
  ].join('\r\n');
  const mail = { to: ['bob@example.com'], subject: 'Grüße 😀', body: 'Hallo Bob,\n\nbis Dienstag!' };

  it('find and read mails', async () => {
    const { id } = await server.mailbox.receive(LETTER);
    const { text } = await read('search_mail', { query: 'from:bob' });
    expect(JSON.parse(text)).toMatchObject({ mail_id: id, from: 'Bob <bob@example.com>', subject: 'Lunch' });
    expect((await read('search_mail', { query: 'from:eve' })).text).toBe('No mail matches.');
    const letter = await read('read_mail', { mail_id: id });
    expect(letter.failed).toBe(false);
    expect(letter.text).toContain('From: Bob <bob@example.com>');
    expect(letter.text).toContain('Are you free on Tuesday?');
    expect(letter.text).not.toContain('<p>');
  });

  it('find and read mails whose headers are long in a text of limited length', async () => {
    const names = Array.from({ length: 2_000 }, (_, n) => `guest-${n}@example.com`).join(',\r\n ');
    const { id } = await server.mailbox.receive(LETTER.replace('To: ada@example.com', `To: ${names}`));
    expect((await read('read_mail', { mail_id: id })).text.length).toBeLessThan(5_000);
    const subject = 'very long '.repeat(1_000);
    await server.mailbox.receive(LETTER.replace('Subject: Lunch', `Subject: ${subject}`));
    expect((await read('search_mail', { query: 'from:bob' })).text.length).toBeLessThan(5_000);
  });

  it('read the beginning of a long mail of HTML, and say that it is not all', async () => {
    const { id } = await server.mailbox.receive(`${LETTER}${'<!-- style -->'.repeat(20_000)}<p>The end</p>`);
    const { text } = await read('read_mail', { mail_id: id });
    expect(text).toContain('Are you free on Tuesday?');
    expect(text).not.toContain('The end');
    expect(text).toContain('(The rest of the mail is not shown.)');
  });

  it('read a mail whose quotes are nested without end, without a text that grows with each level', async () => {
    const quotes = '<blockquote>'.repeat(800);
    const { id } = await server.mailbox.receive(`${LETTER}${quotes}${'a<br>'.repeat(2_000)}`);
    const { text, failed } = await read('read_mail', { mail_id: id });
    expect(failed).toBe(false);
    expect(text).toContain('Are you free on Tuesday?');
    // Each line in the innermost quote would have 800 marks.
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(500);
  });

  it('send a mail that its Message-ID finds', async () => {
    const { key, ...outcome } = await change('send_mail', mail);
    const [sent] = server.mailbox.mails;
    expect(sent?.parsed).toMatchObject({ subject: mail.subject, messageId: key });
    expect(sent?.parsed.text?.trim()).toBe(mail.body);
    expect(outcome).toEqual({ text: `Sent the mail ${sent?.id}.`, failed: false });
    const tool = toolOf('send_mail');
    if (!('send' in tool)) throw new Error('it changes nothing');
    expect(await tool.lookUp(mail, key!, CALL)).toEqual(outcome);
    expect(await tool.lookUp(mail, '<other@example.com>', CALL)).toBeUndefined();
  });

  it('answer in the thread of a mail', async () => {
    const { id, threadId } = await server.mailbox.receive(LETTER);
    await change('send_mail', { ...mail, reply_to: id });
    expect(server.mailbox.mails[1]).toMatchObject({
      threadId,
      parsed: { inReplyTo: '<lunch@example.com>', references: '<lunch@example.com>' },
    });
  });

  it('store a draft, and send nothing', async () => {
    const { key, ...outcome } = await change('create_mail_draft', mail);
    expect(outcome).toMatchObject({ failed: false });
    expect([server.mailbox.drafts.length, server.mailbox.mails.length]).toEqual([1, 0]);
    const tool = toolOf('create_mail_draft');
    if (!('send' in tool)) throw new Error('it changes nothing');
    expect(await tool.lookUp(mail, key!, CALL)).toEqual(outcome);
  });

  it('show the whole mail to the user, and send what the user saw', async () => {
    const hidden = { ...mail, body: 'Pay\u200b now\u{e0041}.\u202eevil' };
    const { changes } = await toolOf('send_mail').preview(hidden, CALL);
    expect(changes).toEqual([
      { label: 'To', after: 'bob@example.com' },
      { label: 'Subject', after: mail.subject },
      { label: 'Text', after: 'Pay now.evil' },
    ]);
    await change('send_mail', hidden);
    expect(server.mailbox.mails[0]?.parsed.text?.trim()).toBe('Pay now.evil');
  });

  it('show which mail is answered', async () => {
    const { id } = await server.mailbox.receive(LETTER);
    const { changes } = await toolOf('send_mail').preview({ ...mail, reply_to: id }, CALL);
    expect(changes).toContainEqual({ label: 'Answers', after: 'Lunch, from Bob <bob@example.com>' });
  });

  it('send nothing if the mail to answer does not exist', async () => {
    expect(await change('send_mail', { ...mail, reply_to: 'none' })).toMatchObject({ failed: true });
    expect(server.mailbox.mails).toEqual([]);
  });

  it('refuse addresses that are none', async () => {
    const outcome = await change('send_mail', { ...mail, to: ['Bob\r\nBcc: eve@example.com'] });
    expect(outcome).toMatchObject({ failed: true, text: expect.stringContaining('to.0') });
    expect(server.requests).toEqual([]);
  });
});

describe('the time zone of a list of events', () => {
  it.each([
    ['Pacific/Auckland', 'Pacific/Auckland'],
    // Google accepts no offsets, and uses the calendar's zone if none is sent.
    ['+05:30', undefined],
    ['', undefined],
  ])('is sent for %j as %j', async (zone, sent) => {
    const queries: (Record<string, string | string[]> | undefined)[] = [];
    const api: Pick<ProviderApi, 'call'> = {
      call: (_user, { query }, schema) => {
        queries.push(query);
        return Promise.resolve(schema.parse({ items: [] }));
      },
    };
    tools = createCalendarTools({ api, timeZone: async () => zone });
    await read('list_calendar_events', { from: MONDAY.start, to: TUESDAY.end });
    expect(queries.map((query) => query?.['timeZone'])).toEqual([sent]);
  });
});
