import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { violations } from './page.js';
import { type Person, shoot, startWorld, type World } from './world.js';

const MEMORY = { key: 'favourite tea', content: 'The favourite tea is Darjeeling.', category: 'general' };
const question = (title: string) => ({
  title,
  description: '',
  actions: [{ label: 'Green', style: 'primary' }],
});

describeWith('chromium', 'what waits for the user', () => {
  let world: World;
  let ada: Person;
  beforeAll(async () => {
    world = await startWorld();
    world.behave = (_agent, prompt, results) => {
      if (results.length > 0) return [{ text: 'Noted.' }];
      // A model reads both messages if the first one has no answer.
      if (prompt.includes('Something else')) return [{ text: 'Hello.' }];
      if (prompt.includes('Remember')) return [{ toolCalls: [{ name: 'remember', arguments: MEMORY }] }];
      const [title] = /Which tea \d\?/.exec(prompt) ?? [];
      if (title !== undefined) return [{ toolCalls: [{ name: 'action_card_tool', arguments: question(title) }] }];
      return [{ text: 'Hello.' }];
    };
    ada = await world.person('Ada');
  });
  beforeEach(() => ada.converse());
  afterAll(() => world?.stop());

  const count = (waiting: number) => ada.page.getByRole('link', { name: `Waiting for me: ${waiting}` }).waitFor();
  const card = (name: string | RegExp) => ada.page.getByRole('region', { name });
  const workspacePath = () => `/v1/workspaces/${ada.workspace}`;
  interface Listed {
    data: { id: string; name: string; message: { id: string } }[];
  }
  async function askBeforeRemembering(): Promise<string> {
    const agents = await ada.api<Listed>('GET', `${workspacePath()}/agents`);
    const tools = `/v1/agents/${agents.data.find(({ name }) => name === 'Manager')!.id}/tools`;
    await ada.api('PATCH', `${tools}/memories`, { permission: 'ask' });
    return tools;
  }

  it('names the tool of an approval and when it expires, and is withdrawn when the user writes something else', async () => {
    await askBeforeRemembering();
    await ada.visit(`/w/${ada.workspace}/c/${ada.conversation}`);
    await ada.ask('Remember my tea');
    await card(/^Approve/)
      .getByText(/^Tool: memories · Expires /)
      .waitFor();
    expect(await violations(ada.page)).toEqual([]);
    await shoot(ada.page, 'approval');
    await count(1);
    await ada.ask('Something else');
    await card(/^Approve/)
      .getByText('This was withdrawn without a decision.')
      .waitFor();
    await count(0);
  });

  it('can be allowed always, so that the next call does not ask', async () => {
    const path = await askBeforeRemembering();
    await ada.visit(`/w/${ada.workspace}/c/${ada.conversation}`);
    await ada.ask('Remember my tea');
    await card(/^Approve/)
      .getByRole('button', { name: 'Allow always' })
      .click();
    await card(/^Approve/)
      .getByText('You chose: Approve')
      .waitFor();
    const answers = ada.page.getByText('Noted.', { exact: true });
    await answers.first().waitFor();
    const { data: tools } = await ada.api<{ data: object[] }>('GET', path);
    expect(tools).toContainEqual(expect.objectContaining({ name: 'memories', permission: 'allow' }));
    await ada.ask('Remember my tea again');
    await answers.nth(1).waitFor();
    expect(await card(/^Approve/).count()).toBe(1);
  });

  it('is complete, whatever else happened since, and follows the events', async () => {
    const { page } = ada;
    const asked: string[] = [];
    for (let n = 1; n <= 3; n += 1) {
      if (n > 1) await ada.converse();
      await ada.ask(`Which tea ${n}?`);
      await count(n);
      asked.push(ada.conversation);
    }
    // A new session receives no past events.
    await page.reload();
    await count(3);
    await ada.visit('/waiting');
    await card('Which tea 3?').waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'waiting');
    const { data: cards } = await ada.api<Listed>('GET', '/v1/open-cards');
    await ada.api('POST', `${workspacePath()}/messages/${cards[0]!.message.id}/action`, { action_id: 'action_1' });
    await count(2);
    await ada.ask('Never mind');
    await count(1);
    await ada.api('DELETE', `${workspacePath()}/conversations/${asked[1]}`);
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    await count(0);
  });
});
