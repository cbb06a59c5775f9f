import type { FileText } from './file-reader.js';

/** What a model asks for. The first of `query`, `pages`, `rows` and `offset` that is set counts. */
export interface TextRequest {
  /** `3`, `10-12`, `10-` or `3, 10-12`: pages, slides, sections or sheets, from 1. */
  pages?: string | null;
  /** As `pages`: rows as numbered in the sheet, or lines of another text. */
  rows?: string | null;
  /** Characters to skip, as the answer before told. */
  offset?: number | null;
  query?: string | null;
}

export interface SelectedText {
  /** Has at most `maxCharacters`, with its labels and the sentence on how to continue. */
  text: string;
  /** What to ask for next, unless that was all. */
  next?: TextRequest;
  /** Passages that match the query. */
  found?: number;
}

/** The part of a text that a model asked for. */
export function selectText(_text: FileText, _ask: TextRequest, _maxCharacters: number): SelectedText {
  throw new Error('Not yet');
}
