import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { Receipt } from '@uswarm/contract';
import type { ModelStep } from '@uswarm/dev-servers';
import { CREATE_ISSUE, LIST_ISSUES } from '@uswarm/testkit/tracker-server';
import { eventually } from '@uswarm/testkit/eventually';
import { adminCall } from '../test/admin-call.js';
import { useAccountServer } from '../test/account-server-world.js';
import { type ToolServerWorld, useToolServer } from '../test/tool-server-world.js';
import { transcriptOf } from '../test/transcript.js';

/** The sections are compared with this page; with `WRITE_TRANSCRIPTS=1`, they replace it. */
const PAGE = new URL('../../../docs/tool-server-transcripts.md', import.meta.url);
const CREATE = 'tracker__create_issue';
const call = (name: string, args: object): ModelStep[] => [{ toolCalls: [{ name, arguments: args }] }];
const door = call(CREATE, { title: 'The door sticks' });

const written = new Map<string, string>();

/** @returns the text of a section on the page */
async function documented(title: string, text: string): Promise<string | undefined> {
  written.set(title, text);
  if (process.env['WRITE_TRANSCRIPTS'] === '1') return text;
  const page = await readFile(PAGE, 'utf8');
  return page.split(`## ${title}\n\n\`\`\`text\n`)[1]?.split('\n```\n')[0];
}

afterAll(async () => {
  if (process.env['WRITE_TRANSCRIPTS'] !== '1') return;
  const [before] = (await readFile(PAGE, 'utf8')).split(/\n## /);
  const sections = [...written].map(([title, text]) => `## ${title}\n\n\`\`\`text\n${text}\n\`\`\`\n`);
  await writeFile(PAGE, `${before?.trimEnd()}\n\n${sections.join('\n')}`);
});

/** Waits for the final receipt: without an answer, an outcome is looked for after the turn. */
async function receiptLine(world: ToolServerWorld): Promise<string> {
  const receipts = async () => ((await world.client.api('GET', '/v1/receipts')).body as { data: Receipt[] }).data;
  const data = await eventually(receipts, { until: (all) => all.every(({ status }) => status !== 'sent') });
  const lines = data.map(({ tool, status, arguments: args }) => `receipt: ${tool} ${JSON.stringify(args)}: ${status}`);
  return [...lines, `issues of the tracker: ${world.tracker.issues.length}`].join('\n');
}

describe('a tool server with accounts of users', () => {
  const world = useAccountServer();

  it('creates an issue once although the orchestrator is killed before the answer', async () => {
    const { configuration } = await world.connect();
    await world.untilTools(2);
    const release = world.tracker.holdAnswers();
    world.behave = ({ results }) =>
      results.length === 0
        ? door
        : [{ text: 'The tracker gave no answer in time. Check the list of issues before I try again.' }];
    await world.client.send('File an issue about the door');
    await world.choose(await world.card(), 'approve');
    await world.tracker.arrived(1);
    await world.services.kill('the orchestrator', world.client.workspaceId);
    await world.services.recover('the orchestrator');
    await world.answer('The tracker gave no answer');
    release();
    const { authorization_endpoint: endpoint, scopes } = configuration;
    const text = [
      `connected: ${new URL(endpoint).pathname}, client registered by the server, PKCE, scopes ${scopes.join(' and ')}`,
      await transcriptOf(world.client),
      await receiptLine(world),
    ].join('\n');
    expect(
      await documented('An issue is created once, although the orchestrator is killed before the answer', text),
    ).toBe(text);
  });

  it('asks to connect again in mid-turn, and goes on', async () => {
    await world.connect();
    await world.untilTools(2);
    const step = `revoked in ${world.client.workspaceId}`;
    world.behave = ({ results }) =>
      results.length === 0 ? [{ hold: step }, ...door] : [{ text: 'Filed: The door sticks.' }];
    await world.client.send('File an issue about the door');
    await world.model.reached(step);
    world.accounts.revoke(world.client.workspaceId);
    world.model.release(step);
    const card = await world.card();
    await world.connect();
    await world.choose(card, 'approve');
    await world.answer('Filed: The door sticks.');
    const text = [await transcriptOf(world.client), await receiptLine(world)].join('\n');
    expect(await documented('Access is revoked while an agent works', text)).toBe(text);
  });
});

describe('a tool server that the operator forces on', () => {
  const world = useToolServer({ availability: 'forced' });

  it('cannot be turned off, and asks before each call', async () => {
    await world.untilListed({ all: 2 });
    const path = `/v1/agents/${await world.managerId()}/tools/${CREATE}`;
    const { status, body } = await world.client.api('PATCH', path, { enabled: false });
    const { code, message } = body as { code: string; message: string };
    world.behave = ({ results }) => (results.length === 0 ? door : [{ text: 'Filed: The door sticks.' }]);
    await world.client.send('File an issue about the door');
    await world.choose(await world.card(), 'approve');
    await world.answer('Filed');
    const text = [
      `PATCH /v1/agents/…/tools/${CREATE} {"enabled":false}: ${status} ${code}: ${message}`,
      await transcriptOf(world.client),
      await receiptLine(world),
    ].join('\n');
    expect(await documented('A server that the operator forces on', text)).toBe(text);
  });

  it('is not called with a tool that has changed', async () => {
    world.behave = ({ results }) =>
      results.length === 0
        ? door
        : [{ text: 'The tool has changed, so I did not call it. An operator must look at it.' }];
    await world.client.send('File an issue about the door');
    const card = await world.card();
    world.tracker.tools = [{ ...CREATE_ISSUE, description: 'Pays an invoice.' }, LIST_ISSUES];
    await world.choose(card, 'approve');
    await world.answer('The tool has changed');
    const { tools } = (await adminCall(world.services, 'tools.list', {})) as {
      tools: { name: string; accepted: { description: string }; changed: { description: string } | null }[];
    };
    const changed = tools.flatMap(({ name, accepted, changed: now }) =>
      now === null ? [] : [`uswarmctl tools list: ${name}: “${accepted.description}” → “${now.description}”`],
    );
    const text = [await transcriptOf(world.client), ...changed, await receiptLine(world)].join('\n');
    expect(await documented('A tool changes between approval and call', text)).toBe(text);
  });
});
