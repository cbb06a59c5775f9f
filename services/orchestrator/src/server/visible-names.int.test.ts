import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AgentMemory, AgentSettings, Conversation, UserProfile, Workspace } from '@uswarm/contract';
import type { ApiClient } from '../../test/api-client.js';
import {
  E2E_TOKEN,
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

/** Sent and stored text: characters that hide or reorder text, or that end a line, are removed. */
const TEXTS: [string, string, string][] = [
  ['a direction override', '\u202eabc', 'abc'],
  ['direction isolates', '\u2066a\u2069b', 'ab'],
  ['a zero-width space', 'a\u200bb', 'ab'],
  ['a byte order mark', '\ufeffab', 'ab'],
  ['a soft hyphen', 'a\u00adb', 'ab'],
  ['a line break', 'a\r\nX: b', 'a X: b'],
  ['a tab and spaces', ' a\t  b ', 'a b'],
  ['line and paragraph separators', 'a\u2028b\u2029c', 'a b c'],
  ['an escape sequence', '\u001b[31mred', '[31mred'],
  ['C1 controls', 'a\u0085b\u009bc', 'abc'],
  ['another composition', 'e\u0301', 'é'],
  ['fillers', 'a\u3164b\uffa0c\u115fd', 'abcd'],
  ['deprecated and unassigned invisible characters', 'a\u034fb\u17b4c\ufff0d\ufffbe', 'abcde'],
  ['text in tags', '🏴\u200ba\u{e0068}\u{e0069}\u{e007f}', '🏴a'],
];
const SCOTLAND = '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}';
const KEPT = ['👩‍👩‍👧', SCOTLAND, '葛\u{e0100}', 'می‌خواهم', 'שלום', 'Ωmega', 'O’Neil-Σ'];

describe('names and other texts of one line', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  let agentId: string;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ bypass: true, environment: { WORKSPACES_PER_USER: '1000' } });
    user = await uswarm.user();
    home = await uswarm.home(user);
    agentId = home.agents[0]?.id ?? '';
  });
  afterAll(() => uswarm.close());

  const profile = async (of: Pick<ApiClient, 'get'> = user): Promise<UserProfile> =>
    (await of.get<{ data: UserProfile }>('/v1/users/profile')).body.data;
  const patched = async (field: 'nickname' | 'name' | 'surname', text: string): Promise<string> => {
    await user.patch('/v1/users', { [field]: text }, 204);
    return (await profile())[field];
  };
  const agents = '/v1/agents';
  const WAYS: Record<string, (text: string) => Promise<string>> = {
    nickname: (text) => patched('nickname', text),
    name: (text) => patched('name', text),
    surname: (text) => patched('surname', text),
    theme: async (text) => {
      await user.patch('/v1/users', { preferences: { platform_theme: text } }, 204);
      return (await profile()).preferences.platform_theme;
    },
    'name of a new workspace': async (name) =>
      (await user.post<{ data: Workspace }>('/v1/workspaces', { name }, 201)).body.data.name,
    'name of a workspace': async (name) =>
      (await user.patch<{ data: Workspace }>(home.workspace, { name }, 200)).body.data.name,
    'title of a conversation': async (title) =>
      (await user.patch<{ data: Conversation }>(home.conversation, { title }, 200)).body.data.title ?? '',
    'name of a prompt': async (name) => {
      const prompts = [{ id: 'p', name, description: 'd', content: 'c' }];
      const path = `${agents}/${agentId}/settings`;
      return (await user.patch<{ data: AgentSettings }>(path, { prompts }, 200)).body.data.prompts[0]?.name ?? '';
    },
    'category of a memory': async (category) => {
      const memory = { key: 'k', content: 'c', category };
      const path = `${agents}/${agentId}/memories`;
      const stored = (await user.post<{ data: AgentMemory }>(path, memory, 200)).body.data.category;
      const listed = await user.get<{ data: AgentMemory[] }>(`${path}?category=${encodeURIComponent(category)}`);
      expect(listed.body.data).toHaveLength(1);
      return stored;
    },
    'claim of an identity provider': async (name) => {
      const claims = { given_name: name, family_name: name };
      const token = await uswarm.issuer.issueToken({ email: `${crypto.randomUUID()}@example.com`, name, claims });
      const client = uswarm.anonymous.with({ 'x-token': token });
      await client.post('/v1/auth/sign-up', undefined, 204);
      const stored = await profile(client);
      expect(stored.surname).toBe(stored.name);
      return stored.name;
    },
  };

  describe.each(Object.keys(WAYS))('the %s', (way) => {
    it.each(TEXTS)('is stored without %s', async (_what, sent, stored) => {
      expect(await WAYS[way]?.(sent)).toBe(stored);
    });

    it.each(KEPT)('keeps %s', async (text) => {
      expect(await WAYS[way]?.(text)).toBe(text.normalize('NFC'));
    });
  });

  it.each(['\u200b', ' \n ', '\u202e\u2066', '\u200d', '\u3164', '\u2800\ufe0f'])(
    'is refused if it is required and shows nothing: %j',
    async (text) => {
      expect(await user.refusal('POST', '/v1/workspaces', { name: text })).toBe('validation_failed');
      expect(await user.refusal('PATCH', home.workspace, { name: text })).toBe('validation_failed');
      expect(await user.refusal('PATCH', home.conversation, { title: text })).toBe('validation_failed');
      const memory = { key: 'k', content: 'c', category: text };
      expect(await user.refusal('POST', `${agents}/${agentId}/memories`, memory)).toBe('validation_failed');
    },
  );

  it('is empty in the profile if it shows nothing', async () => {
    for (const field of ['nickname', 'name', 'surname'] as const) expect(await patched(field, '\u200b\u200d')).toBe('');
  });

  it('is cut to the length that the profile accepts, if an identity provider sends more', async () => {
    expect(await WAYS['claim of an identity provider']?.('😀'.repeat(300))).toBe('😀'.repeat(50));
    expect(await WAYS['claim of an identity provider']?.(`a${'😀'.repeat(300)}`)).toBe(`a${'😀'.repeat(49)}`);
  });

  it('is cleaned also if the bypass names it', async () => {
    const headers = { 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': crypto.randomUUID(), 'x-e2e-name': 'a\tb\u00ad' };
    const client = uswarm.anonymous.with(headers);
    expect((await profile(client)).name).toBe('a b');
  });
});
