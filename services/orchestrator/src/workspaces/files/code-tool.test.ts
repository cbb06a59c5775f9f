import { describe, expect, it } from '@jest/globals';
import type { CodeRequest, CodeResult } from '@uswarm/code-runner';
import { randomUUID } from 'node:crypto';
import type { StoredFile } from '../../turns/request/message-to-text.js';
import type { OwnTool, ToolCall, ToolOutcome } from '../../turns/tools/platform-tool.js';
import type { UploadRow } from '../uploads/uploads.store.js';
import { createCodeTool } from './code-tool.js';
import type { GivenFile } from './given-files.js';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const stored = (name: string, size = 3): StoredFile =>
  ({ id: randomUUID(), name, type: 'file', mime_type: 'text/csv', size }) as StoredFile;

function world(result: Partial<CodeResult> = {}, attached: StoredFile[] = []) {
  const requests: CodeRequest[] = [];
  const given: GivenFile[] = [];
  const artifact = { id: randomUUID(), title: 'Plan / A', version: 3, content: '# Tea' };
  const refusal: { outcome?: ToolOutcome } = {};
  const tool = createCodeTool({
    runner: {
      run(request) {
        requests.push(request);
        return Promise.resolve({ output: '', files: [], durationMs: 1, ...result });
      },
    },
    bytesOf: ({ name }) => Promise.resolve(bytes(name)),
    fileById: (_conversation, id) => Promise.resolve(attached.find((file) => file.id === id)),
    newest: () => Promise.resolve(attached),
    artifactById: (_workspace, id) => Promise.resolve(id === artifact.id ? artifact : undefined),
    given: {
      store(files) {
        given.push(...files);
        const uploads = files.map(({ name, bytes: { length: size } }) => ({ name, size }) as UploadRow);
        return Promise.resolve(refusal.outcome ?? uploads);
      },
      show: (uploads) => Promise.resolve(uploads),
    },
  }) as OwnTool;
  const call = { id: 'c', userId: 'u', workspaceId: 'w', conversationId: 'v', signal: new AbortController().signal };
  async function run(input: object): Promise<ToolOutcome> {
    const commit = await tool.prepare({ language: 'python', code: 'x', ...input }, call as ToolCall);
    return await commit({} as never);
  }
  return { run, requests, given, artifact, refusal };
}

describe('run_code', () => {
  it('gives the code attached files by id or name, and artifacts, under different names', async () => {
    const [one, other] = [stored('sales.csv'), stored('sales.csv')];
    const { run, requests, artifact } = world({ output: '42\n' }, [one, other]);
    const outcome = await run({ files: [one.id, 'SALES.csv', artifact.id] });
    expect(outcome).toEqual({
      failed: false,
      text: 'Output:\n42\n',
      read: [{ kind: 'artifact', id: artifact.id, version: 3 }],
    });
    expect(requests[0]?.files?.map(({ name }) => name)).toEqual(['sales.csv', 'sales (2).csv', 'Plan  A.md']);
    expect(requests[0]?.owner).toBe('u');
  });

  it('names the attached files if it does not find one', async () => {
    const { run, requests } = world({}, [stored('tea.csv')]);
    const outcome = await run({ files: ['coffee.csv'] });
    expect(outcome).toMatchObject({ failed: true, text: expect.stringContaining('There are: tea.csv') });
    expect(requests).toEqual([]);
  });

  it('refuses files that are too large together, before it reads the last one', async () => {
    const { run, requests } = world({}, [stored('a.csv', 2e7), stored('b.csv', 2e7)]);
    expect(await run({ files: ['a.csv', 'b.csv'] })).toEqual({
      failed: true,
      text: 'The files have more than 32 MiB together.',
    });
    expect(requests).toEqual([]);
  });

  it('shows written files to the user under clean names, and believes the bytes of pictures', async () => {
    const files = [
      { name: '..\u202Echart.svg', type: 'image/svg+xml', bytes: bytes('<svg xmlns="http://www.w3.org/2000/svg"/>') },
      { name: 'a.png', type: 'image/png', bytes: bytes('<script>') },
      { name: 'b.png', type: 'image/png', bytes: new Uint8Array(PNG) },
      { name: 'sum', type: 'application/octet-stream', bytes: bytes('42') },
    ];
    const { run, given } = world({ files });
    expect(await run({})).toMatchObject({
      failed: false,
      showsMessage: true,
      text: expect.stringMatching(
        /^The code printed nothing\.\nThe user has these files: “\.\.chart\.svg”, 41 bytes; /,
      ),
    });
    expect(given.map(({ name, type }) => [name, type])).toEqual([
      ['..chart.svg', 'image/svg+xml'],
      ['a.png', expect.not.stringMatching(/^image/)],
      ['b.png', 'image/png'],
      ['sum', 'text/plain'],
    ]);
  });

  it('shows no files of code that failed, but its output and stack', async () => {
    const error = { reason: 'exception', message: 'ZeroDivisionError' } as const;
    const { run, given } = world({ output: 'before\n', error, files: [{ name: 'a', type: 'b', bytes: bytes('c') }] });
    const outcome = await run({});
    expect(outcome).toMatchObject({ failed: true, text: 'The code failed: ZeroDivisionError\nOutput:\nbefore\n' });
    expect(given).toEqual([]);
  });

  it('cuts long output in its middle, and removes characters that cannot be stored', async () => {
    const { run } = world({ output: `first\0 ${'x'.repeat(60_000)} last` });
    const { text } = await run({});
    expect(text).toMatch(/^Output:\nfirst x+\n\[\d+ characters left out\]\nx+ last$/);
    expect(text.length).toBeLessThan(16_200);
  });

  it('tells the agent why the user cannot have the files', async () => {
    const { run, refusal } = world({ files: [{ name: 'a', type: 'b', bytes: bytes('c') }] });
    refusal.outcome = { failed: true, text: "The user's storage is full." };
    expect(await run({})).toEqual(refusal.outcome);
  });
});
