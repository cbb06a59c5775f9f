import { FILES_TOOL } from '@uswarm/contract/agent-tools';
import { isProblem, type Picture, selectText, type TextRequest } from '@uswarm/file-reader';
import { z } from 'zod';
import { type FileContents, isPictureFile, isRecording } from '../../turns/request/attached-files.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';
import { failed, succeeded, withOutcome } from '../../turns/tools/outcomes.js';
import { definePlatformTool, type PlatformTool, type ToolCall } from '../../turns/tools/platform-tool.js';
import { type AttachedFiles, fileNamed } from './named-file.js';
import { roomIn } from './result-room.js';

export interface ReadFileToolDeps extends AttachedFiles {
  contents: FileContents;
}

/** Pages without text that one call shows. */
const PAGES = 4;
/** A stored result has room for these: more would be left out together. */
const PICTURE_BYTES = 3 * 1024 * 1024;

const Input = z.object({
  attachment: z.string().trim().min(1).max(300).describe('The id of the attached file, or its name.'),
  pages: z.string().max(50).optional().describe('Pages, slides, sheets or chapters, such as "3" or "10-12".'),
  rows: z.string().max(50).optional().describe('Rows of a sheet, or lines of a text, such as "200-250".'),
  offset: z.int().nonnegative().optional().describe('Continue after this many characters.'),
  query: z
    .string()
    .max(400)
    .optional()
    .describe('Words to search for in the file: returns the places that match best.'),
});

type ReadFile = z.output<typeof Input>;

const partOf = ({ pages, rows, offset, query }: ReadFile): TextRequest => ({
  ...(pages === undefined ? {} : { pages }),
  ...(rows === undefined ? {} : { rows }),
  ...(offset === undefined ? {} : { offset }),
  ...(query === undefined ? {} : { query }),
});

/** The first page numbers in `pages`, such as `3`, `10-12` or `10-`. */
function pageNumbers(pages: string | undefined): number[] {
  const [, first, isRange, last] = /(\d+)(\s*[-–]\s*)?(\d+)?/.exec(pages ?? '') ?? [];
  if (first === undefined) return [];
  const from = Number(first);
  const to = isRange === undefined ? from : last === undefined ? Infinity : Number(last);
  const length = Math.min(PAGES, Math.max(0, to - from + 1));
  return Array.from({ length }, (_, index) => from + index);
}

function withinBytes(pictures: readonly Picture[]): Picture[] {
  let bytes = 0;
  return pictures.filter((picture) => (bytes += picture.bytes.length) <= PICTURE_BYTES);
}

/** Lets agents read the files that are attached to a conversation, in parts. */
export function createReadFileTool({ contents, fileById, newest }: ReadFileToolDeps): PlatformTool {
  const find = (name: string, { conversationId }: ToolCall) => fileNamed({ fileById, newest }, conversationId, name);

  async function scanned(file: StoredFile, input: ReadFile, call: ToolCall): Promise<Picture[]> {
    const text = await contents.text(file, call);
    if (isProblem(text) || text.scanned.length === 0) return [];
    const numbers = pageNumbers(input.pages).filter((page) => text.scanned.includes(page));
    const pages = numbers.length === 0 ? [] : await contents.pages(file, numbers, call);
    return isProblem(pages) ? [] : withinBytes(pages);
  }

  return definePlatformTool({
    switchedBy: FILES_TOOL,
    name: 'read_file',
    description:
      'Reads a file that is attached to the conversation: all of a short one, or a part of a longer one by pages, rows, offset ' +
      'or query. For a long file, search with query first. Pages without text, and pictures, are shown to you as pictures.',
    effect: 'read',
    reads: 'attachment',
    input: Input,
    describe: ({ attachment, query }) => (query === undefined ? `Reading ${attachment}` : `Searching ${attachment}`),
    async pictures(input, call) {
      const file = await find(input.attachment, call);
      if (typeof file === 'string' || isRecording(file)) return [];
      if (!isPictureFile(file)) return scanned(file, input, call);
      const picture = await contents.picture(file, call);
      return isProblem(picture) ? [] : [picture];
    },
    async prepare(input, call) {
      const file = await find(input.attachment, call);
      if (typeof file === 'string') return withOutcome(failed(file));
      if (isRecording(file)) return withOutcome(failed(`${file.name} is a recording. Recordings cannot be read.`));
      if (isPictureFile(file)) {
        const picture = await contents.picture(file, call);
        return withOutcome(
          isProblem(picture) ? failed(picture.message) : succeeded(`${file.name} is the picture below.`),
        );
      }
      const text = await contents.text(file, call);
      if (isProblem(text)) return withOutcome(failed(`${file.name}: ${text.message}`));
      return withOutcome(succeeded(selectText(text, partOf(input), roomIn(call.contextWindow)).text));
    },
  });
}
