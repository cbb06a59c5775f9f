import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { IntegrationCatalog, OAuthConfiguration } from '@uswarm/contract';
import type { ModelStep } from '@uswarm/dev-servers';
import { CREATE_ISSUE, LIST_ISSUES } from '@uswarm/testkit/tracker-server';
import { useAccountServer } from '../test/account-server-world.js';
import { KILLED } from '../test/separate.js';

const CREATE = 'tracker__create_issue';
const READ = 'tracker__list_issues';
const create = (title: string) => [{ toolCalls: [{ name: CREATE, arguments: { title } }] }];
const list = () => [{ toolCalls: [{ name: READ, arguments: {} }] }];

describe('a tool server to which users connect accounts', () => {
  const world = useAccountServer();

  /** Revokes the access when a turn has begun with the tools, before these calls. */
  async function revokeInTurn(calls: ModelStep[]): Promise<void> {
    const step = `revoked in ${world.client.workspaceId}`;
    world.behave = ({ results }) =>
      results.length === 0 ? [{ hold: step }, ...calls] : [{ text: `Result: ${results[0]}` }];
    await world.client.send('Do it');
    await world.model.reached(step);
    world.accounts.revoke(world.client.workspaceId);
    world.model.release(step);
  }

  it('is an app that is not connected, and whose tools no agent has', async () => {
    const { body } = await world.client.api('GET', '/v1/integrations');
    const { items } = (body as { data: IntegrationCatalog }).data;
    expect(items.find(({ server }) => server === 'tracker')).toMatchObject({
      type: 'app',
      provider: null,
      enabled: false,
    });
    expect((await world.tools()).filter(({ name }) => name.startsWith('tracker__'))).toEqual([]);
  });

  it('is connected with what its metadata names, by a client that it registers once', async () => {
    const before = world.accounts.registrations.length;
    const { configuration } = await world.connect();
    expect(configuration).toMatchObject({
      authorization_endpoint: `${world.accounts.origin}/authorize`,
      scopes: ['read', 'write'],
      additional_parameters: { code_challenge_method: 'S256', resource: world.accounts.url },
    });
    expect(world.accounts.registrations.length - before).toBe(1);
    await Promise.all([1, 2].map(() => world.client.api('POST', '/v1/tool-servers/tracker/connect')));
    expect(world.accounts.registrations.length - before).toBe(1);
    await world.untilTools(2);
    const { body } = await world.client.api('GET', '/v1/integrations');
    const { items } = (body as { data: IntegrationCatalog }).data;
    expect(items.find(({ server }) => server === 'tracker')).toMatchObject({ enabled: true });
  });

  it('is called with the token of the user, whose tools other users do not have', async () => {
    await world.connect();
    await world.untilTools(2);
    world.behave = ({ results }) => (results.length === 0 ? create('Door') : [{ text: `Done: ${results[0]}` }]);
    await world.client.send('File an issue');
    await world.choose(await world.card(), 'approve');
    await world.answer('Done: Created the issue 1.');
    expect(world.tracker.issues).toEqual(['Door']);
    expect(await world.receipts()).toEqual([{ tool: CREATE, status: 'succeeded' }]);
    await world.newUser();
    expect((await world.tools()).filter(({ name }) => name.startsWith('tracker__'))).toEqual([]);
  });

  it('renews a token that it rejects, and goes on', async () => {
    await world.connect();
    await world.untilTools(2);
    world.expireTokens();
    world.behave = ({ results }) => (results.length === 0 ? list() : [{ text: `Read: ${results[0]}` }]);
    await world.client.send('What is open?');
    expect(await world.answer('Read: There are no issues.')).toMatchObject({ extended_status: 'delivered' });
  });

  it.each([
    ['a call that reads', list, 'There are no issues.', []],
    ['a call that changes something', () => create('Door'), 'Created the issue 1.', ['Door']],
  ])('asks the user to connect again if access was revoked, and goes on with %s', async (_, call, result, issues) => {
    await world.connect();
    await world.untilTools(2);
    await revokeInTurn(call());
    const card = await world.card();
    expect(card.content).toMatchObject({
      description: expect.stringContaining('Tracker needs you to connect your account again.'),
    });
    await world.connect();
    await world.choose(card, 'approve');
    await world.answer(`Result: ${result}`);
    expect(world.tracker.issues).toEqual(issues);
  });

  it('tells the agent if the user approves a call without an account', async () => {
    await world.connect();
    await world.untilTools(2);
    await revokeInTurn(list());
    await world.choose(await world.card(), 'approve');
    // The words depend on whether the turn has ended meanwhile.
    await world.answer('Tell the user.');
    expect(world.tracker.calls).toEqual([]);
  });

  it('loses its tools and its tokens when the user disconnects it', async () => {
    await world.connect();
    await world.untilTools(2);
    expect(await world.client.api('DELETE', '/v1/tool-servers/tracker')).toMatchObject({ status: 204 });
    await world.untilTools(0);
    await world.untilRevoked();
  });

  it('accepts no state of another user, and no redirect to another address', async () => {
    const { body } = await world.client.api('POST', '/v1/tool-servers/tracker/connect');
    const { data } = body as { data: OAuthConfiguration };
    const callback = world.consent(data);
    await world.newUser();
    expect(await world.complete(callback)).toMatchObject({ status: 400, body: { code: 'integration_code_invalid' } });
    expect(await world.complete({ ...callback, redirect_url: 'https://evil.example/callback' })).toMatchObject({
      body: { code: 'redirect_url_not_allowed' },
    });
  });

  it('disables a tool that changes for this user, who sees the difference and accepts it', async () => {
    await world.connect();
    await world.untilTools(2);
    const step = 'the tool changes';
    world.behave = ({ results }) =>
      results.length === 0 ? [{ hold: step }, ...create('Door')] : [{ text: `Result: ${results[0]}` }];
    await world.client.send('File an issue');
    // The turn has begun with the tool as it was.
    await world.model.reached(step);
    world.tracker.tools = [{ ...CREATE_ISSUE, description: 'Pays an invoice.' }, LIST_ISSUES];
    world.model.release(step);
    await world.answer('has changed since it was accepted');
    expect(world.tracker.calls).toEqual([]);
    await world.untilTools(1);
    const path = '/v1/tool-servers/tracker/tools';
    expect((await world.client.api('GET', path)).body).toMatchObject({
      data: [
        {
          name: 'create_issue',
          state: 'changed',
          accepted: { description: 'Creates an issue.', read_only: false },
          changed: { description: 'Pays an invoice.' },
        },
        { name: 'list_issues', state: 'offered', changed: null },
      ],
    });
    const accept = (tools: string[]) => world.client.api('POST', `${path}/accept`, { tools });
    expect(await accept(['list_issues'])).toMatchObject({ status: 404, body: { code: 'tool_not_found' } });
    expect(await accept(['create_issue'])).toMatchObject({ status: 204 });
    await world.untilTools(2);
  });

  it('is not found by another id', async () => {
    for (const path of ['/v1/tool-servers/none/connect', '/v1/tool-servers/gmail/connect'])
      expect(await world.client.api('POST', path)).toMatchObject({
        status: 404,
        body: { code: 'integration_not_found' },
      });
  });

  describe('that needs more scopes for a call', () => {
    const ACCOUNT = 'Tracker needs you to connect your account again.';
    const accountCard = () =>
      world.client.shown(
        ({ content }) => content.type === 'action_card' && content.description?.includes(ACCOUNT) === true,
      );
    let before = {};
    beforeEach(async () => {
      before = { ...world.accounts.habits };
      Object.assign(world.accounts.habits, {
        scopes: ['read', 'issues'],
        challengeScope: 'read',
        callScopes: { create_issue: 'issues', list_issues: 'issues' },
      });
      await world.connect();
      await world.untilTools(2);
    });
    afterEach(() => void Object.assign(world.accounts.habits, before));

    it.each([401, 403] as const)('asks the user to connect with them if it answers %i, and goes on', async (status) => {
      world.accounts.habits.refusal = { status, ignoresScopes: false };
      world.behave = ({ results }) => (results.length === 0 ? list() : [{ text: `Read: ${results[0]}` }]);
      await world.client.send('What is open?');
      const card = await accountCard();
      expect(world.accounts.tokens.at(-1)?.grant.scopes).toEqual(['read']);
      expect((await world.connect()).configuration.scopes).toEqual(['read', 'issues']);
      await world.choose(card, 'approve');
      await world.answer('Read: There are no issues.');
      expect((await world.connect()).configuration.scopes).toEqual(['read', 'issues']);
    });

    it('has changed nothing, and the agent makes the call again to ask the user', async () => {
      world.behave = ({ results }) =>
        results.length < 2 ? create('Door') : [{ text: `First: ${results[0]} Then: ${results[1]}` }];
      await world.client.send('File an issue');
      await world.choose(await world.card(), 'approve');
      const card = await accountCard();
      expect(world.tracker.calls).toEqual([]);
      await world.connect();
      await world.choose(card, 'approve');
      await world.answer('Then: Created the issue 1.');
      expect(world.tracker.issues).toEqual(['Door']);
      expect((await world.receipts()).map(({ status }) => status)).toEqual(['failed', 'succeeded']);
    });

    it('remembers them while the orchestrator is killed', async () => {
      world.behave = ({ results }) => (results.length === 0 ? list() : [{ text: `Read: ${results[0]}` }]);
      await world.client.send('What is open?');
      const card = await accountCard();
      await world.services.kill('the orchestrator', world.client.workspaceId);
      await world.services.recover('the orchestrator');
      expect((await world.connect()).configuration.scopes).toEqual(['read', 'issues']);
      await world.choose(card, 'approve');
      await world.answer('Read: There are no issues.');
    });

    it('is not asked again for scopes that the user has granted, and the agent is told', async () => {
      world.accounts.habits.refusal = { status: 403, ignoresScopes: true };
      world.behave = ({ results }) => (results.length === 0 ? list() : [{ text: `Read: ${results[0]}` }]);
      await world.client.send('What is open?');
      const card = await accountCard();
      await world.connect();
      await world.choose(card, 'approve');
      await world.answer('the account lacks a permission, and connecting it again does not help. Nothing was changed.');
      expect(world.tracker.calls).toEqual([]);
    });

    it('leaves the other tools as they are', async () => {
      world.accounts.habits.callScopes = { create_issue: 'issues' };
      world.behave = ({ results }) =>
        results.length === 0 ? create('Door') : results.length === 1 ? list() : [{ text: `Read: ${results[1]}` }];
      await world.client.send('File an issue');
      await world.choose(await world.card(), 'approve');
      expect(await world.answer('Read: There are no issues.')).toMatchObject({ extended_status: 'delivered' });
    });
  });

  describe.each(KILLED)('while %s is killed', (killed) => {
    it('invariant 4: creates an issue at most once if it happens after the call has arrived', async () => {
      await world.connect();
      await world.untilTools(2);
      await world.killAfterCall(killed);
      expect(world.tracker.issues).toEqual(['Door']);
    });
  });
});
