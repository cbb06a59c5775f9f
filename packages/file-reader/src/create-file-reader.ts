import type { FileReader } from './file-reader.js';

export interface FileReaderOptions {
  /** The program that reads files. By default `program.js` beside this module; a bundle must name its own. */
  program?: URL;
  /** Files that are read at the same time, each in its own process. Default 1. */
  processes?: number;
  /** Files that wait for a process; more are refused as `busy`. Default 32. */
  queue?: number;
  limits?: Partial<ReaderLimits>;
}

export interface ReaderLimits {
  /** Largest file, in bytes. Default 100 MiB. */
  fileBytes: number;
  /** Resident memory of the process, in bytes. Default 512 MiB. */
  memoryBytes: number;
  /** Time for a file. Default 20 s. */
  timeMs: number;
  /** Time for a PDF with more than 100 pages. Default 60 s. */
  longTimeMs: number;
  /** Characters of text. Default 16 Mi. */
  characters: number;
  /** Default 2,000. */
  pages: number;
}

export function createFileReader(_options: FileReaderOptions = {}): FileReader {
  throw new Error('Not yet');
}
