import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { type AskingServer, startAskingServer } from '@uswarm/testkit/asking-server';
import { eventually } from '@uswarm/testkit/eventually';
import { violations } from './page.js';
import { type Person, shoot, startWorld, type World } from './world.js';

const BOOKING: AskingServer['questions'][number] = {
  message: 'A few details for the booking:',
  requestedSchema: {
    type: 'object',
    properties: {
      guest: { type: 'string', title: 'Guest', description: 'as in the passport', minLength: 2 },
      mail: { type: 'string', title: 'E-mail address', format: 'email' },
      nights: { type: 'integer', title: 'Nights', minimum: 1, default: 1 },
      bed: { type: 'string', title: 'Bed', enum: ['double', 'single'], default: 'double' },
      extras: { type: 'array', title: 'Extras', items: { type: 'string', enum: ['cot', 'desk'] } },
      arrival: { type: 'string', title: 'Arrival', format: 'date-time' },
    },
    required: ['guest', 'nights', 'bed'],
  },
};

describeWith('chromium', 'a question of a tool server', () => {
  const cleanup = new AsyncDisposableStack();
  let server: AskingServer;
  let world: World;
  let ada: Person;
  beforeAll(async () => {
    server = await startAskingServer({ readOnly: true });
    cleanup.defer(() => server.close());
    const folder = await mkdtemp(join(tmpdir(), 'uswarm-page-'));
    cleanup.defer(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, 'tool-servers.json');
    const hotel = { id: 'hotel', name: 'Hotel', url: server.url, trust_hints: true };
    await writeFile(file, JSON.stringify({ servers: [hotel] }));
    world = await startWorld({ TOOL_SERVERS_FILE: file });
    cleanup.defer(() => world.stop());
    world.behave = (_agent, _prompt, results) =>
      results.length === 0 ? [{ toolCalls: [{ name: 'hotel__ask', arguments: {} }] }] : [{ text: 'Booked.' }];
    ada = await world.person('Ada');
    const agents = await ada.api<{ data: { id: string }[] }>('GET', `/v1/workspaces/${ada.workspace}/agents`);
    const path = `/v1/agents/${agents.data[0]!.id}/tools`;
    const tools = () => ada.api<{ data: { name: string }[] }>('GET', path);
    await eventually(tools, { until: ({ data }) => data.some(({ name }) => name === 'hotel__ask') });
  });
  afterAll(() => cleanup.disposeAsync());

  const card = () => ada.page.getByRole('region', { name: 'Hotel asks you' });

  it('is a form, checked before it is sent, whose values reach the server', async () => {
    server.questions = [BOOKING];
    await ada.visit(`/w/${ada.workspace}/c/${ada.conversation}`);
    await ada.ask('Book a room');
    await card().getByText('A few details for the booking:').waitFor();
    expect(await violations(ada.page)).toEqual([]);
    await shoot(ada.page, 'question');
    const send = card().getByRole('button', { name: 'Send' });
    await send.click();
    // The browser refuses an empty required field.
    expect(
      await card()
        .getByLabel('Guest: as in the passport')
        .evaluate((input) => input.matches(':invalid')),
    ).toBe(true);
    await card().getByLabel('Guest: as in the passport').fill('Ada');
    await card().getByLabel('E-mail address').fill('ada@example.com');
    await card().getByLabel('Nights').fill('3');
    await card().getByRole('radio', { name: 'single' }).check();
    await card().getByRole('checkbox', { name: 'desk' }).check();
    await card().getByLabel('Arrival').fill('2026-12-01T18:30');
    await send.click();
    await ada.page.getByText('Booked.', { exact: true }).waitFor();
    expect(server.answers).toEqual([
      {
        action: 'accept',
        content: {
          guest: 'Ada',
          mail: 'ada@example.com',
          nights: 3,
          bed: 'single',
          extras: ['desk'],
          arrival: new Date('2026-12-01T18:30').toISOString(),
        },
      },
    ]);
    await card().getByText('You chose: Send').waitFor();
    expect(await card().getByRole('button').count()).toBe(0);
  });

  it('is answered with a button if it has one choice, and can be declined', async () => {
    server.answers = [];
    server.questions = [
      { message: 'Overwrite?', requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } } } },
    ];
    await ada.converse();
    await ada.visit(`/w/${ada.workspace}/c/${ada.conversation}`);
    await ada.ask('Book a room');
    await card().getByRole('button', { name: 'Decline' }).waitFor();
    await card().getByRole('button', { name: 'No', exact: true }).click();
    await ada.page.getByText('Booked.', { exact: true }).waitFor();
    expect(server.answers).toEqual([{ action: 'accept', content: { sure: false } }]);
    await ada.converse();
    await ada.visit(`/w/${ada.workspace}/c/${ada.conversation}`);
    await ada.ask('Book a room');
    await card().getByRole('button', { name: 'Decline' }).click();
    await card().getByText('You chose: Decline').waitFor();
    await eventually(() => server.answers, { until: (answers) => answers.length === 2 });
    expect(server.answers[1]).toEqual({ action: 'decline' });
  });
});
