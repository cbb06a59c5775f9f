/** Is read once, from its start. */
export interface FileSource {
  /** As the user named it. Only its extension counts, for formats without a signature. */
  name: string;
  /** Media type. May be wrong: the bytes decide where they can. */
  type: string;
  bytes: Uint8Array | AsyncIterable<Uint8Array>;
  /** In bytes. */
  size: number;
  /** Owners take turns when files wait. */
  owner?: string;
}

export type ProblemKind =
  | 'encrypted'
  | 'corrupt'
  | 'unsupported'
  | 'too_large'
  | 'too_slow'
  | 'too_much_memory'
  | 'empty'
  /** The reader has too many files to read; the only problem that is not the file's. Later it can succeed. */
  | 'busy';

export interface FileProblem {
  problem: ProblemKind;
  /** One English sentence for agent and user, such as `The PDF is protected by a password.` */
  message: string;
}

export interface FilePart {
  /** `Page 3`, `Sheet "Costs"`, `Slide 2`, a chapter's title, or empty. */
  label: string;
  /** A sheet has one line per row: the row's number, a tab, and the cells as CSV. */
  text: string;
}

export interface FileText {
  kind: 'pages' | 'rows' | 'slides' | 'sections' | 'text' | 'listing';
  title?: string;
  /** For `pages` and `slides`, part n is page n, also when it has no text. */
  parts: FilePart[];
  /** Pages, slides, sections, rows in all sheets, or entries in the file; more than were read if `truncated`. */
  total: number;
  truncated: boolean;
  /** Pages without text, numbered from 1. */
  scanned: number[];
  /** Sentences about the whole file, beside its text. */
  notes: string[];
}

export interface Picture {
  type: 'image/jpeg' | 'image/png';
  bytes: Uint8Array;
  /** In pixels, after rotation. */
  width: number;
  height: number;
}

export interface PagePicture extends Picture {
  page: number;
}

export interface FileReader {
  /** Rejects only with the signal's reason, or when the reader is closed. */
  text(file: FileSource, signal: AbortSignal): Promise<FileText | FileProblem>;
  /** Makes a picture upright and small, and removes its metadata. */
  picture(file: FileSource, signal: AbortSignal): Promise<Picture | FileProblem>;
  /** Shows PDF pages in the order asked for; numbers start at 1. Pages that do not exist are left out. */
  pages(file: FileSource, numbers: readonly number[], signal: AbortSignal): Promise<PagePicture[] | FileProblem>;
  /** Kills the processes. Jobs reject. */
  close(): Promise<void>;
}

export function isProblem(result: object): result is FileProblem {
  return 'problem' in result;
}
