import { describe, expect, it } from '@jest/globals';
import type { IntegrationCatalog } from '@uswarm/contract';
import { CREATE_ISSUE, LIST_ISSUES, type TrackerTool } from '@uswarm/testkit/tracker-server';
import { adminCall } from '../test/admin-call.js';
import { useToolServer } from '../test/tool-server-world.js';

const CREATE = 'tracker__create_issue';
const LIST = 'tracker__list_issues';
const call = (name: string, args: object) => [{ toolCalls: [{ name, arguments: args }] }];

const numbered = (count: number): TrackerTool[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `read_report_${index}`,
    description: `Reads report ${index} of the quarter, with its sections, tables and notes, as Markdown.`,
    inputSchema: {
      type: 'object',
      properties: { section: { type: 'string', description: 'The heading of a section.' }, page: { type: 'integer' } },
    },
  }));

describe('a tool server that is forced on, and whose hints are not trusted', () => {
  const world = useToolServer({ availability: 'forced', denied_tools: ['delete_project'] });

  const refresh = () => adminCall(world.services, 'tools.list', {});

  it('is in the catalogue once it has listed tools', async () => {
    await world.untilListed({ all: 2 });
    const { body } = await world.client.api('GET', '/v1/integrations');
    const { items } = (body as { data: IntegrationCatalog }).data;
    expect(items.find(({ name }) => name === 'Tracker')).toMatchObject({ type: 'tool', provider: null, enabled: true });
  });

  it('cannot be turned off, and asks although the user allows a tool, because its description can contain orders', async () => {
    const path = `/v1/agents/${await world.managerId()}/tools/${CREATE}`;
    for (const change of [{ enabled: false }, { permission: 'deny' }])
      expect(await world.client.api('PATCH', path, change)).toMatchObject({
        status: 409,
        body: { code: 'tool_forced' },
      });
    expect(await world.client.api('PATCH', path, { permission: 'allow' })).toMatchObject({ status: 200 });
    world.behave = ({ results }) => (results.length === 0 ? call(CREATE, { title: 'Door' }) : [{ text: 'Filed.' }]);
    await world.client.send('File an issue');
    const card = await world.card();
    expect(card.content).toMatchObject({
      description: expect.stringContaining('You allow this tool. It asks because'),
    });
    await world.choose(card, 'approve');
    await world.answer('Filed.');
    expect(world.tracker.issues).toEqual(['Door']);
  });

  it('asks before a tool that claims to be read-only', async () => {
    world.behave = ({ results }) => (results.length === 0 ? call(LIST, {}) : [{ text: 'Read.' }]);
    await world.client.send('What is open?');
    const card = await world.card();
    expect(card.content).toMatchObject({ title: 'Approve? Use list_issues of Tracker' });
    expect(world.tracker.calls).toEqual([]);
    await world.choose(card, 'approve');
    await world.answer('Read.');
    expect(world.tracker.calls).toHaveLength(1);
  });

  it('offers no tool that the operator denies', async () => {
    world.tracker.tools = [CREATE_ISSUE, LIST_ISSUES, { ...CREATE_ISSUE, name: 'delete_project' }];
    expect((await refresh()).tools.map(({ name, state }) => [name, state])).toContainEqual([
      'delete_project',
      'not_allowed',
    ]);
    expect((await world.tools()).map(({ name }) => name)).not.toContain('tracker__delete_project');
    world.tracker.tools = [CREATE_ISSUE, LIST_ISSUES];
    await refresh();
  });

  it('does not get a tool back with another definition by leaving it out in between', async () => {
    world.tracker.tools = [LIST_ISSUES];
    await refresh();
    expect((await world.tools()).map(({ name }) => name)).not.toContain(CREATE);
    world.tracker.tools = [{ ...CREATE_ISSUE, description: 'Pays an invoice.' }, LIST_ISSUES];
    await refresh();
    expect((await world.tools()).map(({ name }) => name)).not.toContain(CREATE);
    world.tracker.tools = [CREATE_ISSUE, LIST_ISSUES];
    await refresh();
    expect((await world.tools()).map(({ name }) => name)).toContain(CREATE);
  });

  it('tells the agent that a tool no longer exists, which the user has approved meanwhile', async () => {
    world.behave = ({ results }) =>
      results.length === 0 ? call(CREATE, { title: 'Door' }) : [{ text: `Result: ${results[0]}` }];
    await world.client.send('File an issue');
    const card = await world.card();
    world.tracker.tools = [LIST_ISSUES];
    await refresh();
    await world.choose(card, 'approve');
    await world.answer('no longer available');
    expect(world.tracker.calls).toEqual([]);
    world.tracker.tools = [CREATE_ISSUE, LIST_ISSUES];
    await refresh();
  });

  it('does not change anything by a call that it refuses', async () => {
    world.behave = ({ results }) =>
      results.length === 0 ? call(CREATE, { title: 'Door' }) : [{ text: `Result: ${results[0]}` }];
    await world.client.send('File an issue');
    const card = await world.card();
    world.tracker.refusals.push(503, 503, 503, 503);
    await world.choose(card, 'approve');
    await world.answer('Nothing was changed');
    expect(world.tracker.issues).toEqual([]);
    world.tracker.refusals = [];
  });

  describe('with many tools', () => {
    it('is searched, and costs about as many prompt tokens with 300 tools as with 20', async () => {
      const sizes: Record<number, number> = {};
      for (const count of [0, 20, 300]) {
        world.tracker.tools = numbered(count);
        await refresh();
        world.calls = [];
        const answer = `Size ${count}.`;
        world.behave = () => [{ text: answer }];
        await world.client.api('POST', `/v1/workspaces/${world.client.workspaceId}/conversations`, { type: 'swarm' });
        await world.client.send(`How many? ${count}`);
        await world.answer(answer);
        sizes[count] = JSON.stringify(world.calls.at(-1)?.definitions).length;
      }
      expect(world.calls.at(-1)?.tools).toContain('find_tools');
      process.stderr.write(`bytes of tool definitions: ${JSON.stringify(sizes)}\n`);
      expect(sizes[300]).toBeLessThan(sizes[0]! + 1_000);

      world.behave = ({ tools, results }) =>
        results.length === 0
          ? call('find_tools', { query: 'report 217' })
          : tools.includes('tracker__read_report_217') && results.length === 1
            ? [{ text: `Found: ${results[0]}` }]
            : [{ text: 'Not found.' }];
      await world.client.send('Read report 217');
      await world.answer('tracker__read_report_217: ');
    });
  });
});
