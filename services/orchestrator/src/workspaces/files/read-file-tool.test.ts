import { describe, expect, it } from '@jest/globals';
import type { FileText } from '@uswarm/file-reader';
import type { FileContents } from '../../turns/request/attached-files.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';
import type { OwnTool, ToolCall } from '../../turns/tools/platform-tool.js';
import { createReadFileTool } from './read-file-tool.js';

const scan: StoredFile = { id: 'u1', name: 'scan.pdf', type: 'file', mime_type: 'application/pdf', size: 10 };
const call = { userId: 'ada', conversationId: 'c', signal: new AbortController().signal } as ToolCall;

/** A PDF with 12 pages; the first two have text. */
const TEXT: FileText = {
  kind: 'pages',
  parts: Array.from({ length: 12 }, (_, index) => ({ label: `Page ${index + 1}`, text: index < 2 ? 'text' : '' })),
  total: 12,
  truncated: false,
  scanned: [3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  notes: [],
};

function toolWith() {
  const shown: number[][] = [];
  let lookUps = 0;
  const contents: FileContents = {
    text: async () => TEXT,
    picture: () => Promise.reject(new Error('the file is not a picture')),
    async pages(_file, numbers) {
      shown.push([...numbers]);
      return [];
    },
  };
  const tool = createReadFileTool({
    contents,
    transcripts: { read: () => Promise.reject(new Error('the file is not a recording')) },
    fileById: async () => undefined,
    async newest() {
      lookUps += 1;
      return [scan];
    },
  }) as OwnTool & Required<Pick<OwnTool, 'pictures'>>;
  return { tool, shown, lookUps: () => lookUps };
}

describe('read_file', () => {
  it.each([
    ['3, 10-12', [3, 10, 11, 12]],
    ['1-2,5', [5]],
    ['9-', [9, 10, 11, 12]],
    ['1-8', [3, 4, 5, 6]],
  ])('shows the pages without text of all ranges in “%s”, four at most', async (pages, numbers) => {
    const { tool, shown } = toolWith();
    await tool.pictures({ attachment: 'scan.pdf', pages }, call);
    expect(shown).toEqual([numbers]);
  });

  it.each(['1-2', 'three', '', undefined])('shows no page for the pages “%s”', async (pages) => {
    const { tool, shown } = toolWith();
    await tool.pictures({ attachment: 'scan.pdf', pages }, call);
    expect(shown).toEqual([]);
  });

  it('looks a file up once per call', async () => {
    const { tool, lookUps } = toolWith();
    const input = { attachment: 'scan.pdf', pages: '3' };
    await tool.prepare(input, call);
    await tool.pictures(input, call);
    expect(lookUps()).toBe(1);
    await tool.pictures(input, { ...call });
    expect(lookUps()).toBe(2);
  });
});
