import { isProblem } from '@uswarm/file-reader';
import type { Logger } from '@uswarm/service-kit';
import {
  type FileContents,
  type FileReading,
  isAudio,
  isPictureFile,
  isVideo,
} from '../../turns/request/attached-files.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';

/** Newest first: more would delay each search. */
const FILES = 20;
const MAX_CHARACTERS = 500_000;
const WAIT_MS = 2_000;

export interface ConversationOfUser {
  conversationId: string;
  userId: string;
}

/** Returns the conversation's file texts, as far as they have been read. */
export function createAttachedTexts(
  contents: Pick<FileContents, 'text'>,
  newest: (conversationId: string) => Promise<StoredFile[]>,
  logger: Pick<Logger, 'debug'>,
) {
  async function textOf(file: StoredFile, reading: FileReading): Promise<string> {
    if (isAudio(file)) return file.transcript ?? '';
    const read = await contents.text(file, reading);
    return isProblem(read) ? '' : read.parts.map((part) => part.text).join('\n');
  }

  return async ({ conversationId, userId }: ConversationOfUser): Promise<string[]> => {
    const files = (await newest(conversationId)).filter((file) => !isPictureFile(file) && !isVideo(file));
    const signal = AbortSignal.timeout(WAIT_MS);
    const texts: string[] = [];
    let left = MAX_CHARACTERS;
    for (const file of files.slice(0, FILES)) {
      if (left <= 0 || signal.aborted) break;
      try {
        const text = await textOf(file, { userId, signal });
        if (text === '') continue;
        texts.push(text.slice(0, left));
        left -= text.length;
      } catch (error) {
        // A model has not read it either: only files that have been read are in a prompt.
        logger.debug({ err: error, upload: file.id }, 'a file was not read in time');
      }
    }
    return texts;
  };
}
