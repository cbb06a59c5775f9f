import { FILES_TOOL } from '@uswarm/contract/agent-tools';
import { isProblem, type Picture, selectText, type TextRequest } from '@uswarm/file-reader';
import { z } from 'zod';
import { isId } from '../../platform/database/id.js';
import {
  type FileContents,
  isAudio,
  isPictureFile,
  isVideo,
  type Transcripts,
} from '../../turns/request/attached-files.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';
import { failed, succeeded, withOutcome } from '../../turns/tools/outcomes.js';
import { definePlatformTool, type PlatformTool, type ToolCall } from '../../turns/tools/platform-tool.js';

export interface ReadFileToolDeps {
  contents: FileContents;
  transcripts: Transcripts;
  fileById: (conversationId: string, id: string) => Promise<StoredFile | undefined>;
  /** Newest message first. */
  newest: (conversationId: string) => Promise<StoredFile[]>;
}

/** Characters of one result. */
const MOST_CHARACTERS = 16_000;
const LEAST_CHARACTERS = 2_000;
/** A result has about a sixth of the window, at three characters per token. */
const CHARACTERS_PER_WINDOW_TOKEN = 0.5;
const LISTED = 20;
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

const roomIn = (contextWindow: number | undefined): number =>
  Math.floor(
    Math.min(MOST_CHARACTERS, Math.max(LEAST_CHARACTERS, (contextWindow ?? Infinity) * CHARACTERS_PER_WINDOW_TOKEN)),
  );

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
export function createReadFileTool({ contents, transcripts, fileById, newest }: ReadFileToolDeps): PlatformTool {
  async function find(name: string, { conversationId }: ToolCall): Promise<StoredFile | string> {
    const wanted = name.replace(/^id\s+/i, '').toLowerCase();
    const known = isId(wanted) ? await fileById(conversationId, wanted) : undefined;
    if (known !== undefined) return known;
    const attached = await newest(conversationId);
    const found = attached.find((file) => file.name.toLowerCase() === wanted);
    if (found !== undefined) return found;
    if (attached.length === 0) return 'No file is attached to this conversation.';
    const names = attached.slice(0, LISTED).map((file) => `${file.name} (id ${file.id})`);
    return `No attached file has this id or name. There are: ${names.join(', ')}.`;
  }

  async function scanned(file: StoredFile, input: ReadFile, signal: AbortSignal): Promise<Picture[]> {
    const text = await contents.text(file, signal);
    if (isProblem(text) || text.scanned.length === 0) return [];
    const numbers = pageNumbers(input.pages).filter((page) => text.scanned.includes(page));
    const pages = numbers.length === 0 ? [] : await contents.pages(file, numbers, signal);
    return isProblem(pages) ? [] : withinBytes(pages);
  }

  return definePlatformTool({
    switchedBy: FILES_TOOL,
    name: 'read_file',
    description:
      'Reads a file that is attached to the conversation: all of a short one, or a part of a longer one by pages, rows, offset ' +
      'or query. For a long file, search with query first. Pages without text, and pictures, are shown to you as pictures. ' +
      'The text of a recording is its transcript.',
    effect: 'read',
    reads: 'attachment',
    input: Input,
    describe: ({ attachment, query }) => (query === undefined ? `Reading ${attachment}` : `Searching ${attachment}`),
    async pictures(input, call) {
      const file = await find(input.attachment, call);
      if (typeof file === 'string' || isAudio(file) || isVideo(file)) return [];
      if (!isPictureFile(file)) return scanned(file, input, call.signal);
      const picture = await contents.picture(file, call.signal);
      return isProblem(picture) ? [] : [picture];
    },
    async prepare(input, call) {
      const file = await find(input.attachment, call);
      if (typeof file === 'string') return withOutcome(failed(file));
      if (isVideo(file)) return withOutcome(failed(`${file.name} is a video. Videos cannot be read.`));
      if (isPictureFile(file)) {
        const picture = await contents.picture(file, call.signal);
        return withOutcome(
          isProblem(picture) ? failed(picture.message) : succeeded(`${file.name} is the picture below.`),
        );
      }
      const text = isAudio(file)
        ? await transcripts.read(file, { id: call.turnId, workspace_id: call.workspaceId }, call.signal)
        : await contents.text(file, call.signal);
      if (isProblem(text)) return withOutcome(failed(`${file.name}: ${text.message}`));
      return withOutcome(succeeded(selectText(text, partOf(input), roomIn(call.contextWindow)).text));
    },
  });
}
