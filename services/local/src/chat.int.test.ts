import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { CLIENT_EVENTS, SERVER_EVENTS } from '@uswarm/contract';
import { checkServerEvent } from '@uswarm/contract/checks';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newDataFolder, type RunningProgram, runLocalMode } from '../test/local.js';
import { type Program, runProgram } from '../test/program.js';

const quickstart = readFileSync(path.resolve(import.meta.dirname, '../../../docs/quickstart.md'), 'utf8');
const QUESTION = 'Search the web for green tea and answer with sources';

interface JsonLine {
  event: string;
  payload: Record<string, unknown>;
}

const runChat = (directory: string, args: string[]): Program =>
  runProgram('packages/cli/dist/chat.js', args, { USWARM_DATA_DIR: directory });

describe('npm run chat beside local mode without search', () => {
  let local: RunningProgram;
  beforeAll(async () => {
    // Its first start, whose steps the page shows.
    local = await runLocalMode({ USWARM_DATA_DIR: await newDataFolder() });
  });
  afterAll(() => local?.stop());

  it('shows the workspace status, the tool call, and an answer that explains how to enable search', async () => {
    const chat = runChat(local.directory, [QUESTION, '--email', 'once@example.com']);
    expect(await chat.ended).toBe(0);
    const lines = chat.stdout().trimEnd().split('\n');
    expect(lines[0]).toBe(`· once@example.com at ${local.url}`);
    expect(lines).toContain('· workspace: ready (Ready)');
    expect(lines).toContain('· Manager is thinking');
    expect(lines).toContain('· Manager uses web_search_tool: green tea');
    const answer = lines.find((line) => line.startsWith('Manager: '));
    expect(answer).toContain('[demo] The search failed: web_search_tool: searxng endpoint is not configured.');
    expect(answer).toContain('Search is turned off. Start uswarm without --no-search, or set SVC_SEARCH_ENDPOINT');
    expect(quickstart).toContain(`\n${answer}\n`);
    expect(chat.stderr()).toBe('');
  });

  it('is started with the steps that docs/quickstart.md shows', () => {
    // As root, a start also deletes each database whose data folder was deleted, such as one from another test.
    const printed = local.program.stdout().replaceAll(/^ {2}Deleting the database in .*\n/gm, '');
    const [steps = ''] = /^(?: {2}\S.*\n)+(?=\nuswarm is running)/m.exec(printed) ?? [];
    expect(steps).toContain('Starting Postgres');
    expect(quickstart).toContain(`\n${steps}\nuswarm is running`);
  });

  it('prints every event as one line of JSON with --json', async () => {
    const chat = runChat(local.directory, ['--json', QUESTION, '--email', 'json@example.com']);
    expect(await chat.ended).toBe(0);
    const lines = chat
      .stdout()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as JsonLine);
    const fromServer = lines.filter(({ event }) => Object.hasOwn(SERVER_EVENTS, event));
    for (const { event, payload } of fromServer) checkServerEvent(event, payload);
    const others = lines.filter((line) => !fromServer.includes(line));
    expect(others.map(({ event }) => event)).toEqual(['message.send']);
    expect(CLIENT_EVENTS['message.send'].payload.safeParse(others[0]?.payload).success).toBe(true);
    const done = lines.find(({ event }) => event === 'message.done');
    const last = lines.findLast(
      ({ event, payload }) => event === 'message.updated' && idOf(payload) === done?.payload['message_id'],
    );
    expect(JSON.stringify(last)).toContain('searxng endpoint is not configured');
    expect(fromServer.some(({ event }) => event === 'message.chunk')).toBe(true);
  });

  it('sends each line of its input and ends with the input', async () => {
    const chat = runChat(local.directory, ['--email', 'piped@example.com']);
    chat.type('First nonce 4711\n/nonsense\nSecond nonce 4712\n');
    chat.type();
    expect(await chat.ended).toBe(0);
    const order = ['You asked: First nonce 4711', 'Unknown command /nonsense', 'You asked: Second nonce 4712'];
    const positions = order.map((text) => chat.stdout().indexOf(text));
    expect(positions).not.toContain(-1);
    expect(positions.toSorted((a, b) => a - b)).toEqual(positions);
  });

  it('shows earlier messages after a restart', async () => {
    const talk = async (...lines: string[]): Promise<string> => {
      const chat = runChat(local.directory, ['--email', 'again@example.com']);
      for (const line of lines) chat.type(`${line}\n`);
      chat.type();
      expect(await chat.ended).toBe(0);
      return chat.stdout();
    };
    await talk('Nonce 4713');
    expect(await talk('/quit')).toMatch(/^you: Nonce 4713\nManager: \[demo\] .*Nonce 4713/m);
  });

  it.each([
    ['it waits for the workspace', /workspace: /],
    ['it waits for input', /OPENAI_MODEL and start again\.\n/],
  ])('exits with 130 on Ctrl-C while %s', async (_when, printed) => {
    const chat = runChat(local.directory, ['--email', 'interrupted@example.com']);
    chat.type('Hello\n');
    await chat.printed(printed);
    expect(await chat.stop('SIGINT')).toBe(130);
    expect(chat.stderr()).toBe('');
  });
});

it('npm run chat reports in one sentence that local mode is not running', async () => {
  const directory = await newDataFolder();
  const chat = runChat(directory, ['Anybody there?']);
  expect(await chat.ended).toBe(1);
  expect(chat.stdout()).toBe('');
  expect(chat.stderr()).toBe('uswarm is not running here. Start it with: npm start\n');
  await rm(path.dirname(directory), { recursive: true });
});

function idOf(payload: Record<string, unknown>): unknown {
  return (payload['message'] as { id?: unknown } | undefined)?.id;
}
