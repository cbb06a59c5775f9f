export const FILE_TYPES = {
  text: { mediaType: 'text/plain', ending: 'txt' },
  csv: { mediaType: 'text/csv', ending: 'csv' },
  markdown: { mediaType: 'text/markdown', ending: 'md' },
  html: { mediaType: 'text/html', ending: 'html' },
  docx: { mediaType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', ending: 'docx' },
  xlsx: { mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', ending: 'xlsx' },
  pdf: { mediaType: 'application/pdf', ending: 'pdf' },
} as const;

export type FileType = keyof typeof FILE_TYPES;

export interface FileRequest {
  type: FileType;
  /** With or without an ending. Not sanitized. */
  name: string;
  content: string;
}

export interface WrittenFile {
  bytes: Uint8Array;
  type: string;
  /** Ends with the ending of its type. */
  name: string;
  /** Sentences about what the file does not contain. */
  notes: string[];
}

/** `limit`: too large or too slow; `content`: the type cannot have it; `busy`: later it may be written. */
export type Reason = 'limit' | 'content' | 'busy';

/** The message is a sentence about what to change. */
export class FileNotWritten extends Error {
  override name = 'FileNotWritten';
  readonly reason: Reason;

  constructor(reason: Reason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Replaces the ending of another type. */
export function fileName(name: string, type: FileType): string {
  const { ending } = FILE_TYPES[type];
  const known = [...Object.values(FILE_TYPES).map((each) => each.ending), 'htm', 'markdown', 'doc', 'xls'];
  const start = name.replace(new RegExp(`\\.(?:${known.join('|')})$`, 'i'), '');
  return `${start}.${ending}`;
}
