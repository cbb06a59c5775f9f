import { FILES_TOOL } from '@uswarm/contract/agent-tools';
import { inRanges, isProblem, parseRanges, type Picture, selectText } from '@uswarm/file-reader';
import { z } from 'zod';
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
import { type AttachedFiles, fileNamed } from './named-file.js';
import { roomIn } from './result-room.js';

export interface ReadFileToolDeps extends AttachedFiles {
  contents: FileContents;
  transcripts: Transcripts;
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

function withinBytes(pictures: readonly Picture[]): Picture[] {
  let bytes = 0;
  return pictures.filter((picture) => (bytes += picture.bytes.length) <= PICTURE_BYTES);
}

/** Lets agents read the files that are attached to a conversation, in parts. */
export function createReadFileTool({ contents, transcripts, fileById, newest }: ReadFileToolDeps): PlatformTool {
  /** A call is prepared, and then its pictures are read. */
  const found = new WeakMap<ToolCall, StoredFile | string>();

  async function find(name: string, call: ToolCall): Promise<StoredFile | string> {
    const file = found.get(call) ?? (await fileNamed({ fileById, newest }, call.conversationId, name));
    found.set(call, file);
    return file;
  }

  async function scanned(file: StoredFile, input: ReadFile, call: ToolCall): Promise<Picture[]> {
    const ranges = parseRanges(input.pages ?? '');
    const text = await contents.text(file, call);
    if (isProblem(text) || ranges === undefined) return [];
    const numbers = text.scanned.filter((page) => inRanges(ranges, page)).slice(0, PAGES);
    const pages = numbers.length === 0 ? [] : await contents.pages(file, numbers, call);
    return isProblem(pages) ? [] : withinBytes(pages);
  }

  return definePlatformTool({
    switchedBy: FILES_TOOL,
    name: 'read_file',
    hint: 'read an attached file',
    offeredFor: 'files',
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
      if (!isPictureFile(file)) return scanned(file, input, call);
      const picture = await contents.picture(file, call);
      return isProblem(picture) ? [] : [picture];
    },
    async prepare(input, call) {
      const file = await find(input.attachment, call);
      if (typeof file === 'string') return withOutcome(failed(file));
      if (isVideo(file)) return withOutcome(failed(`${file.name} is a video. Videos cannot be read.`));
      if (isPictureFile(file)) {
        const picture = await contents.picture(file, call);
        return withOutcome(
          isProblem(picture) ? failed(picture.message) : succeeded(`${file.name} is the picture below.`),
        );
      }
      const text = isAudio(file)
        ? await transcripts.read(file, { id: call.turnId, workspace_id: call.workspaceId }, call.signal)
        : await contents.text(file, call);
      if (isProblem(text)) return withOutcome(failed(`${file.name}: ${text.message}`));
      return withOutcome(succeeded(selectText(text, input, roomIn(call.contextWindow)).text));
    },
  });
}
