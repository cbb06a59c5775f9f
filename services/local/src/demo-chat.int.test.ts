import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AgentSummary, MessageData, Workspace } from '@uswarm/contract';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { runProgram } from '../test/program.js';

describe('npm run chat with the demo model', () => {
  let local: RunningProgram;
  beforeAll(async () => {
    local = await runLocalMode();
  });
  afterAll(() => local?.stop());

  /** Sends each line, and returns what the chat prints about them. */
  async function talk(user: string, ...lines: string[]): Promise<string> {
    const email = `${user}@example.com`;
    const chat = runProgram('packages/cli/dist/chat.js', ['--email', email], { USWARM_DATA_DIR: local.directory });
    for (const line of lines) chat.type(`${line}\n`);
    chat.type();
    expect(await chat.ended).toBe(0);
    expect(chat.stderr()).toBe('');
    return chat.stdout();
  }
  const lastLine = (output: string): string | undefined =>
    output
      .trimEnd()
      .split('\n')
      .findLast((line) => !/^· \w+ is \w+$/.test(line));

  /** Calls the API as a user. */
  async function api<Data>(user: string, method: string, path: string, body?: object): Promise<Data> {
    const json = { 'content-type': 'application/json' };
    const identity = JSON.stringify({ email: `${user}@example.com`, name: 'Me' });
    const issued = await fetch(`${local.issuer}/dev/token`, { method: 'POST', headers: json, body: identity });
    const { id_token: token } = (await issued.json()) as { id_token: string };
    const response = await fetch(`${local.url}${path}`, {
      method,
      headers: { 'x-token': token, ...json },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.ok).toBe(true);
    return ((await response.json()) as { data: Data }).data;
  }

  /** Lets a new user's agent ask before it changes its memories. */
  async function ask(user: string, slug: string): Promise<void> {
    await talk(user, '/quit');
    const [workspace] = await api<Workspace[]>(user, 'GET', '/v1/workspaces');
    const agents = await api<AgentSummary[]>(user, 'GET', `/v1/workspaces/${workspace?.id}/agents`);
    const agent = agents.find((one) => one.slug === slug);
    await api(user, 'PATCH', `/v1/agents/${agent?.id}/tools/memories`, { permission: 'ask' });
  }

  it('lists what the demo model shows', async () => {
    expect(await talk('list', 'Show me everything')).toContain('- “show me a workflow”: ');
  });

  it('shows each version and status of an artifact, opens it, and shows it again from the history', async () => {
    const output = await talk('artifact', 'show me an artifact', '/open 1');
    const artifact = (state: string): string => `■ Artifact “Tea party”, ${state}, by @manager. Open it: /open 1\n`;
    for (const state of ['version 1, draft', 'version 2, draft', 'version 2, final'])
      expect(output.split(artifact(state))).toHaveLength(2);
    expect(output).toContain('“Tea party”, version 2, final:\n\n# Tea party\n');
    const history = await talk('artifact', '/quit');
    expect(history).toContain(artifact('version 2, final'));
    expect(history).not.toContain(artifact('version 1, draft'));
  });

  it('shows a card, and the answer to an action that is chosen by its number', async () => {
    const output = await talk('card', 'show me a card', '2');
    expect(output).toMatch(/\? How should we continue\?\n {2}.+\n {2}\[1\] Continue\n {2}\[2\] Start over\n/);
    expect(output).toMatch(
      /✓ How should we continue\? You chose: Start over\n[^]*Manager: \[demo\] You asked: Start over\n/,
    );
  });

  it.each([
    ['1', 'approve', /Manager: \[demo\] You approved the call\./],
    ['2', 'deny', /Manager: \[demo\] The call did not run: The user denied this call\./],
  ])('shows an approval, and what follows if the user chooses %s to %s', async (number, user, expected) => {
    await ask(user, 'manager');
    const output = await talk(user, 'show me an approval', number);
    expect(output).toMatch(/\? Approve\? Remembering “demo approval”\n[^]* {2}\[1\] Approve\n {2}\[2\] Deny\n/);
    expect(output).toMatch(expected);
  });

  it('shows the name of a file that an agent writes, which the user downloads from a message', async () => {
    expect(await talk('file', 'show me a file')).toMatch(/^Manager: Tea party\.pdf$/m);
    const [workspace] = await api<Workspace[]>('file', 'GET', '/v1/workspaces');
    const path = `/v1/workspaces/${workspace?.id}/conversations`;
    const [conversation] = await api<{ id: string }[]>('file', 'GET', path);
    const messages = await api<MessageData[]>('file', 'GET', `${path}/${conversation?.id}/messages`);
    const [file] = messages.flatMap(({ role, attachments }) => (role === 'agent' ? attachments : []));
    const response = await fetch(new URL(file?.url ?? '', local.url));
    expect(response.headers.get('content-type')).toBe('application/pdf');
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
    expect(bytes).toHaveLength(file?.size ?? 0);
  });

  it('shows memories that are saved, recalled and deleted', async () => {
    const output = await talk(
      'memory',
      'Remember that my favourite tea is Darjeeling',
      'What do you remember about tea?',
      'Forget my favourite tea',
    );
    expect(output).toContain('· remember completed: Remembering “favourite tea”\n');
    expect(output).toContain('"content":"my favourite tea is Darjeeling"');
    expect(output).toContain('Manager: [demo] Forgot “favourite tea”.\n');
  });

  it.each([
    ['show me a failed tool call', /^Manager: \[demo\] read_artifact failed: There is no artifact /],
    ['show me a failure', /^The turn failed: .+ \(model_unavailable\)$/],
    ['show me a refusal', /^The turn failed.* \(model_refused\)\.?$/],
    ['show me an incomplete answer', /^The answer is incomplete: .+ \(output_limit_reached\)$/],
    ['stay silent', /^· Manager stays silent$/],
  ])('shows how a turn ends: %s', async (request, expected) => {
    expect(lastLine(await talk('ends', request))).toMatch(expected);
  });

  it('shows delegations to three agents, and the answer after them', async () => {
    const output = await talk('three', 'delegate to three agents');
    for (const agent of ['Researcher', 'Analyst', 'Writer']) {
      expect(output).toMatch(new RegExp(`^▸ Manager → ${agent} \\(running\\): `, 'm'));
      expect(output).toMatch(new RegExp(`^✓ Manager → ${agent} \\(completed\\): `, 'm'));
    }
    expect(output).toMatch(
      /^Manager: \[demo\] The results of my delegations:\n\n- @researcher reports: \[demo\] I worked on/m,
    );
  });

  it('shows a nested delegation indented, and a failed one', async () => {
    const nested = await talk('nested', 'show me a nested delegation');
    expect(nested).toMatch(/^▸ Manager → Researcher \(running\)[^]*^ {2}▸ Researcher → Analyst \(running\)/m);
    expect(nested).toMatch(/^ {2}✓ Researcher → Analyst \(completed\)[^]*^✓ Manager → Researcher \(completed\)/m);
    const failed = await talk('nested', 'show me a failed delegation');
    expect(failed).toMatch(/^✗ Manager → Researcher \(failed\)/m);
    expect(failed).toMatch(/^- @researcher failed: /m);
  });

  it('shows that the manager hands over, and the reply of the other agent', async () => {
    const output = await talk('hand-over', 'hand over to writer');
    expect(output).toMatch(
      /^Manager: \[demo\] I hand over to Writer\.\n· Manager hands over\n[^]*^Writer: \[demo\] I have taken over/m,
    );
  });

  it('shows a workflow with each change of its steps, and the report after it', async () => {
    const output = await talk('workflow', 'show me a workflow', '/workflows');
    expect(output).toContain('▸ Workflow “[demo] Tea report” (running)\n');
    for (const step of [
      'Collect sources (@researcher',
      'Compare the sources (@analyst',
      'Write a draft (@writer',
      'Check the draft (@coder',
    ])
      expect(output).toContain(`  ✓ ${step}, completed)\n`);
    expect(output).toMatch(
      /^✓ Workflow “\[demo\] Tea report” \(completed\)\n[^]*^Manager: \[demo\] The workflow “\[demo\] Tea report” has ended: completed\./m,
    );
  });

  it('shows a workflow with a step that fails', async () => {
    const output = await talk('failed-workflow', 'show me a failed workflow');
    expect(output).toContain('  ✗ Compare the sources (@analyst, failed)\n');
    expect(output).toMatch(/^✗ Workflow “\[demo\] Tea report” \(failed\)\n[^]*has ended: failed\./m);
  });

  it('continues a workflow after the approval that one of its steps needs', async () => {
    const user = 'asking-workflow';
    await ask(user, 'analyst');
    const output = await talk(user, 'show me a workflow with an approval', '1');
    expect(output).toMatch(/\? Approve\? Remembering “demo approval”\n/);
    expect(output).toMatch(
      /has ended: completed\.[^]*^- Compare the sources \(@analyst, completed\): \[demo\] You approved the call/m,
    );
  });
});
