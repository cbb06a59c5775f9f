import type { AttachmentsIn, FileContents, Transcripts } from '../src/turns/request/attached-files.js';

const notAttached = (): never => {
  throw new Error('the turn has no files');
};

/** For turns without attached files. */
export const NO_FILES: { files: FileContents; transcripts: Transcripts; attachmentsIn: AttachmentsIn } = {
  files: { text: notAttached, picture: notAttached, pages: notAttached },
  transcripts: { read: notAttached },
  attachmentsIn: () => Promise.resolve([]),
};
