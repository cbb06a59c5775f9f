import { FILES_TOOL } from '@uswarm/contract/agent-tools';
import { FILE_TYPES, FileNotWritten, type FileType, type FileWriter } from '@uswarm/file-writer';
import { z } from 'zod';
import type { SafeMarkdown } from '../../turns/content/reply-text.js';
import { failed, succeeded, withOutcome } from '../../turns/tools/outcomes.js';
import { definePlatformTool, type PlatformTool } from '../../turns/tools/platform-tool.js';
import { cleanName } from '../uploads/file-names.js';
import type { GivenFiles } from './given-files.js';

export interface FileToolDeps {
  writer: FileWriter;
  given: GivenFiles;
  markdown: Pick<SafeMarkdown, 'text'>;
}

const TYPES = Object.keys(FILE_TYPES) as [FileType, ...FileType[]];

/** Lets agents write files. The user gets each as a message with an attachment. */
export function createFileTools({ writer, given, markdown }: FileToolDeps): PlatformTool[] {
  const create = definePlatformTool({
    name: 'create_file',
    hint: 'write a file to download, such as csv, docx, xlsx or pdf',
    description:
      'Writes a file that the user can download, and shows it in the conversation. docx and pdf are written from Markdown ' +
      'with headings, lists, tables, code and links; a line <!-- pagebreak --> begins a page; images are not loaded. xlsx is ' +
      'written from CSV or Markdown tables: a heading before a table names its sheet, numbers like 1234.5 and days like ' +
      '2026-01-31 become numbers and days, and formulas stay text. html cannot run scripts or load anything. Use ' +
      'create_artifact for a document that will change. The user sees the file: do not repeat its content.',
    switchedBy: FILES_TOOL,
    effect: 'own',
    input: z.object({
      name: z.string().min(1).max(200).describe('The name of the file.'),
      type: z.enum(TYPES),
      content: z.string().min(1).describe('The whole content. Markdown for docx and pdf, CSV or Markdown for xlsx.'),
    }),
    describe: ({ name }) => `Writing the file “${cleanName(name)}”`,
    async prepare({ name, type, content }, call) {
      const shown = type === 'docx' || type === 'pdf' || type === 'markdown' ? markdown.text(content) : content;
      const request = { type, name: cleanName(name), content: shown };
      const file = await writer.write(request, { owner: call.userId, signal: call.signal }).catch((error: unknown) => {
        if (error instanceof FileNotWritten) return error;
        throw error;
      });
      if (file instanceof FileNotWritten) return withOutcome(failed(file.message));
      const stored = await given.store([{ ...file, name: cleanName(file.name) }], call);
      if (!Array.isArray(stored)) return withOutcome(stored);
      return async (tx) => {
        const [upload] = await given.show(stored, call, tx);
        const text = [`The user has the file “${upload?.name}”, ${upload?.size} bytes.`, ...file.notes].join(' ');
        return { ...succeeded(text), showsMessage: true };
      };
    },
  });
  return [create];
}
