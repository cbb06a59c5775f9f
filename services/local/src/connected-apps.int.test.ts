import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentSummary, IntegrationCatalog, MessageData, OAuthConfiguration, ReceiptPage } from '@uswarm/contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type GoogleServer,
  type ModelServer,
  type OAuthServer,
  startGoogleServer,
  startModelServer,
  startOAuthServer,
} from '@uswarm/dev-servers';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { byTier } from '@uswarm/testkit/tier';
import { runProgram } from '../test/program.js';
import { modelSettings } from '../test/model-settings.js';
import { killIfAlive } from '../test/processes.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const EVENT = { title: 'Dentist', start: '2026-12-01T09:00:00Z', end: '2026-12-01T09:30:00Z' };
const MAIL = { to: ['bob@example.com'], subject: 'Lunch', body: 'Are you free on Tuesday?' };
const CALLS: Record<string, { name: string; arguments: object }> = {
  event: { name: 'create_calendar_event', arguments: EVENT },
  mail: { name: 'send_mail', arguments: MAIL },
  calendar: { name: 'list_calendar_events', arguments: { from: EVENT.start, to: EVENT.end, query: null } },
};
const SCOPES = ['openid', 'offline_access'];
const REDIRECT = 'https://app.example.com/callback';

describe('apps that the user has connected', () => {
  let model: ModelServer;
  let oauth: OAuthServer;
  let google: GoogleServer;
  let services: SeparateServices;
  let client: TestClient;
  /** Result of the last call, as the model saw it. */
  let results: string[] = [];
  /** The user has removed the app in the Google account. */
  let isRevoked = false;

  beforeAll(async () => {
    const registered = { client_secret: 's', grant_types: ['authorization_code', 'refresh_token'] };
    oauth = await startOAuthServer({
      clients: ['google_calendar', 'gmail'].map((provider) => ({
        client_id: provider,
        ...registered,
        redirect_uris: [`${REDIRECT}/${provider}`],
        token_endpoint_auth_method: 'client_secret_post' as const,
      })),
    });
    model = await startModelServer({
      script: ({ messages }) => {
        const last = messages.at(-1);
        if (last?.role === 'tool') {
          results.push(JSON.stringify(last.content));
          return [{ text: 'Done.' }];
        }
        const call = Object.entries(CALLS).find(([word]) => JSON.stringify(last).includes(word))?.[1];
        return call === undefined ? [{ text: 'Hello.' }] : [{ toolCalls: [call] }];
      },
    });
  });
  beforeEach(async () => {
    results = [];
    isRevoked = false;
    google = await startGoogleServer({ accepts: async (token) => !isRevoked && (await oauth.accepts(token)) });
    const endpoints = {
      client_secret: 's',
      authorization_endpoint: oauth.authorizationEndpoint,
      token_endpoint: oauth.tokenEndpoint,
      revocation_endpoint: oauth.revocationEndpoint,
      scopes: SCOPES,
      additional_parameters: { prompt: 'consent' },
    };
    const settingsOf = (provider: string, path: string) => ({
      ...endpoints,
      client_id: provider,
      redirect_urls: [`${REDIRECT}/${provider}`],
      api_url: `${google.url}${path}`,
    });
    services = await startSeparateServices({
      ...modelSettings(model),
      SUMMARY_WORKERS: '0',
      WORK_LEASE_MS: '3000',
      INTEGRATION_PROVIDERS: JSON.stringify({
        google_calendar: settingsOf('google_calendar', '/calendar/v3'),
        gmail: settingsOf('gmail', ''),
      }),
      INTEGRATION_TOKEN_KEYS: `test:${randomBytes(32).toString('base64')}`,
    });
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterEach(async () => {
    await client?.close();
    await services?.close();
    await google?.close();
  });
  afterAll(async () => {
    await oauth?.close();
    await model?.close();
  });

  async function connect(provider: string): Promise<void> {
    const { body } = await client.api('POST', '/v1/integrations/connect', { provider });
    const { client_id: clientId, redirect_url: redirectUrl, additional_parameters: more } = body as OAuthConfiguration;
    const verifier = randomBytes(32).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const parameters = { ...more, code_challenge: challenge };
    const code = await oauth.authorize({ clientId, redirectUrl, scopes: SCOPES, parameters });
    const { status } = await client.api('POST', '/v1/integrations/callback', {
      provider,
      authorization_code: code,
      code_verifier: verifier,
      redirect_url: redirectUrl,
    });
    expect(status).toBe(204);
  }
  const approve = async (): Promise<MessageData> => {
    const card = await client.shown(({ content }) => content.type === 'action_card');
    await client.api('POST', `/v1/workspaces/${client.workspaceId}/messages/${card.id}/action`, {
      action_id: 'approve',
    });
    return card;
  };
  const answered = () =>
    client.saw(
      'message.updated',
      ({ message: { content } }: { message: MessageData }) => content.type === 'text' && content.text === 'Done.',
    );
  const receipts = () =>
    services.query(
      `SELECT tool, effect, status, arguments, approval ->> 'title' AS approved FROM receipts WHERE workspace_id = $1`,
      [client.workspaceId],
    );
  const allow = async (tool: string): Promise<void> => {
    const { body } = await client.api('GET', `/v1/workspaces/${client.workspaceId}/agents`);
    for (const { id } of (body as { data: AgentSummary[] }).data)
      await client.api('PATCH', `/v1/agents/${id}/tools/${tool}`, { permission: 'allow' });
  };
  const events = () => [...google.calendar.events.values()].map(({ summary }) => summary);
  const receiptOf = (tool: string, effect: string, input: object, status: string, approved: string | null = null) => [
    { tool, effect, status, arguments: input, approved },
  ];

  it('are not available before the user connects them', async () => {
    await client.send('create the event');
    await answered();
    expect(results).toEqual([expect.stringContaining('unknown tool')]);
  });

  it('read the calendar although the model writes null for an absent argument and Google sends an odd event', async () => {
    await connect('google_calendar');
    google.calendar.add({ summary: 'Standup', start: { dateTime: EVENT.start }, end: { dateTime: EVENT.end } });
    google.alter('calendar.events.list', (answer) => ({
      items: [{ id: 'odd', attendees: [{ displayName: 'Room 4' }] }, ...(answer as { items: unknown[] }).items],
    }));
    await client.send('read the calendar');
    await answered();
    expect(results).toEqual([expect.stringMatching(/Room 4[^]*Standup/)]);
  });

  it('are disconnected, with a card in the conversation, after the user has removed the app at Google', async () => {
    await connect('google_calendar');
    isRevoked = true;
    oauth.alterTokenAnswers(() => ({ status: 400, body: { error: 'invalid_grant' } }));
    await client.send('read the calendar');
    const { payload } = await client.saw(
      'message.new',
      ({ message }: { message: MessageData }) => message.content.type === 'action_card',
    );
    await answered();
    oauth.alterTokenAnswers(undefined);
    expect((payload['message'] as MessageData).content).toMatchObject({ title: 'Google Calendar is not connected' });
    expect(results).toEqual([expect.stringContaining('has not connected Google Calendar')]);
    const { body } = await client.api('GET', '/v1/integrations');
    const { items } = (body as { data: IntegrationCatalog }).data;
    expect(items.find(({ provider }) => provider === 'google_calendar')?.enabled).toBe(false);
  });

  it('REST-038 ask before they change something, and show the whole call', async () => {
    await connect('gmail');
    await client.send('send the mail');
    const card = await approve();
    expect(google.mailbox.mails).toEqual([]);
    expect(card.content).toMatchObject({
      title: 'Approve? Sending “Lunch” to bob@example.com',
      description: `To: “bob@example.com”\nSubject: “Lunch”\nText: “${MAIL.body}”`,
    });
    await answered();
    expect(google.mailbox.mails.map(({ parsed }) => parsed.text?.trim())).toEqual([MAIL.body]);
    expect(await receipts()).toEqual(
      receiptOf('send_mail', 'once', MAIL, 'succeeded', 'Approve? Sending “Lunch” to bob@example.com'),
    );
  });

  it('leave a receipt that the user downloads and verifies offline', async () => {
    await connect('gmail');
    await client.send('send the mail');
    const card = await approve();
    await answered();
    const { body: page } = await client.api('GET', '/v1/receipts');
    const { body: keys } = await client.api('GET', '/v1/receipt-keys');
    const [receipt] = (page as ReceiptPage).data;
    const { title, description } = card.content as { title: string; description: string };
    expect(receipt).toMatchObject({
      tool: 'send_mail',
      arguments: MAIL,
      approval: { user_id: receipt?.user_id, title, description },
      status: 'succeeded',
    });
    const folder = await mkdtemp(join(tmpdir(), 'uswarm-receipts-'));
    const verify = async (shown: unknown) => {
      await writeFile(join(folder, 'receipts.json'), JSON.stringify(shown));
      await writeFile(join(folder, 'receipt-keys.json'), JSON.stringify(keys));
      const program = runProgram(
        'packages/cli/dist/uswarmctl.js',
        ['receipt', 'verify', join(folder, 'receipts.json')],
        {},
      );
      return { code: await program.ended, stdout: program.stdout(), stderr: program.stderr() };
    };
    try {
      await services.orchestrators[0]!.stop();
      expect(await verify(page)).toEqual({
        code: 0,
        stdout: `${receipt?.id}: valid: send_mail succeeded at ${receipt?.finished_at}, approved by ${receipt?.user_id}\n`,
        stderr: '',
      });
      expect(await verify({ data: { ...receipt, arguments: { ...MAIL, subject: 'Dinner' } } })).toEqual({
        code: 1,
        stdout: `${receipt?.id}: invalid: arguments is not what was signed\n`,
        stderr: '',
      });
      expect((await verify('x')).code).toBe(1);
      const usage = runProgram('packages/cli/dist/uswarmctl.js', ['receipt', 'verify'], {});
      expect(await usage.ended).toBe(2);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  describe('when a process is killed after a request was executed, and before its answer', () => {
    beforeEach(async () => {
      await connect('gmail');
      await connect('google_calendar');
      await allow('gmail');
      await allow('google_calendar');
    });
    /** Another one starts afterwards, so that the killed one had the turn. */
    async function killOrchestrator(): Promise<void> {
      await services.orchestrators[0]!.stop('SIGKILL');
      await services.addOrchestrator();
    }
    async function killRuntime(): Promise<void> {
      const [row] = await services.query<{ pid: number }>('SELECT pid FROM runtime_processes WHERE workspace_id = $1', [
        client.workspaceId,
      ]);
      killIfAlive(row!.pid);
    }
    const kills: [string, () => Promise<unknown>][] = [
      ['the orchestrator', killOrchestrator],
      ['the runtime', killRuntime],
      ['both', () => Promise.all([killOrchestrator(), killRuntime()])],
    ];
    const during = async (method: string, text: string, kill: () => Promise<unknown>): Promise<void> => {
      google.failNext(method, { kind: 'hang' });
      await client.send(text);
      await google.faulted(method);
      await kill();
      google.release();
      await answered();
    };

    it.each(byTier({ core: kills.slice(1, 2), all: kills }))('create an event once: %s', async (_which, kill) => {
      await during('calendar.events.insert', 'create the event', kill);
      expect(events()).toEqual(['Dentist']);
      expect(await receipts()).toEqual(receiptOf('create_calendar_event', 'keyed', EVENT, 'succeeded'));
      expect(results).toEqual([expect.stringContaining('Created the event')]);
    });

    it.each(byTier({ core: kills.slice(0, 1), all: kills }))(
      'send a mail once, and find it: %s',
      async (_which, kill) => {
        await during('gmail.users.messages.send', 'send the mail', kill);
        expect(google.mailbox.mails).toHaveLength(1);
        expect(await receipts()).toEqual(receiptOf('send_mail', 'once', MAIL, 'succeeded'));
        expect(results).toEqual([expect.stringContaining('Sent the mail')]);
      },
    );

    it('send a mail once, and report that it is not known whether it was sent', async () => {
      google.mailbox.indexed = false;
      await during('gmail.users.messages.send', 'send the mail', killOrchestrator);
      expect(google.mailbox.mails).toHaveLength(1);
      expect(google.requests.filter((method) => method === 'gmail.users.messages.send')).toHaveLength(1);
      // The job looks it up later.
      expect(await receipts()).toEqual(receiptOf('send_mail', 'once', MAIL, 'sent'));
      expect(results).toEqual([expect.stringContaining('It is not known whether this call was executed')]);
    });
  });
});
