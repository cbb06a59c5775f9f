import { create } from '@bufbuild/protobuf';
import { type FileProblem, type FileText, isProblem, type Picture, selectText } from '@uswarm/file-reader';
import { type AttachedFile, AttachedFileSchema, PictureSchema, Recording } from '@uswarm/runtime-proto';
import type { HistoryRow } from './history.store.js';
import { filesOnly, type StoredFile } from './message-to-text.js';
import type { TurnRow } from '../turns.store.js';

/** Such runtimes get attached files with their content. */
export const FILES = 'files.1';

export interface FileReading {
  /** Users take turns when many files wait. */
  userId: string;
  /** Ends the wait for the result. */
  signal: AbortSignal;
}

/** Reads attached files, and caches the results. */
export interface FileContents {
  text(file: StoredFile, reading: FileReading): Promise<FileText | FileProblem>;
  /** For models; a picture's metadata is removed. */
  picture(file: StoredFile, reading: FileReading): Promise<Picture | FileProblem>;
  /** PDF pages as pictures. */
  pages(file: StoredFile, numbers: readonly number[], reading: FileReading): Promise<Picture[] | FileProblem>;
}

/** Audio files as text. */
export interface Transcripts {
  /** Has the recording transcribed for this turn, and waits for it. */
  read(
    file: Pick<StoredFile, 'id'>,
    turn: Pick<TurnRow, 'id' | 'workspace_id'>,
    signal: AbortSignal,
  ): Promise<FileText | FileProblem>;
}

/** Leaves out files that no message in the conversation has. */
export type AttachmentsIn = (conversationId: string, ids: readonly string[]) => Promise<StoredFile[]>;

/** A prompt contains files from this many messages. Earlier ones are read on request. */
const MESSAGES = 10;
const PICTURES = 8;
/** Total bytes. */
const PICTURE_BYTES = 4 * 1024 * 1024;
const SCANNED_PAGES = 4;
/** Characters per file, and in total: a longer file is read in parts. */
const FILE_CHARACTERS = 20_000;
const ALL_CHARACTERS = 60_000;
/** A smaller part would not help without reading the file. */
const LEAST_CHARACTERS = 500;
/** A quarter of the window, at three characters per token. */
const CHARACTERS_PER_WINDOW_TOKEN = 0.75;

const UNSEEN = 'A picture. Your model cannot see pictures: tell the user if the answer depends on it.';
const NOT_SHOWN = 'Not shown here, because there are many files. Use read_file.';
const NOT_TRANSCRIBED = 'A recording that was not transcribed. Use read_file.';
const NOT_IN_TIME = 'Not read yet, because it takes long. Use read_file.';

export interface FileNote {
  file: StoredFile;
  message: string;
}

export interface PromptFiles {
  /** By message. */
  files: ReadonlyMap<string, readonly AttachedFile[]>;
  /** Unreadable files in the answered messages, for the user. */
  problems: readonly FileNote[];
  /** False if a file takes longer to read than the turn waits. */
  isComplete: boolean;
}

/** Time for all files in ms, and for the recordings among them, which often are a whole message. */
export interface Patience {
  withinMs: number;
  recordingsWithinMs: number;
}

export interface FileOptions extends FileReading, Patience {
  turn: Pick<TurnRow, 'id' | 'workspace_id'>;
  /** Ids of the answered messages. */
  answered: readonly string[];
  /** True if the model sees pictures, or if that is unknown. */
  images: boolean;
  /** The model's window in tokens. */
  window: number;
}

export const isPictureFile = ({ type }: Pick<StoredFile, 'type'>): boolean => type === 'image';

/** Its text is its transcript. */
export const isAudio = ({ type }: Pick<StoredFile, 'type'>): boolean => type === 'audio';

/** It has neither text nor a picture. */
export const isVideo = ({ type }: Pick<StoredFile, 'type'>): boolean => type === 'video';

/** Remaining limits. Newer messages come first. */
interface Room {
  characters: number;
  pictures: number;
  bytes: number;
}

type Shown = Partial<Pick<AttachedFile, 'text' | 'pictures' | 'recording'>>;

const toPicture = ({ type, bytes }: Picture) => create(PictureSchema, { mediaType: type, data: bytes });

/** Reads the newest attached files, within the prompt's limits. */
export async function attachedFiles(
  newestFirst: readonly HistoryRow[],
  contents: FileContents,
  transcripts: Transcripts,
  { turn, answered, images, window, withinMs, recordingsWithinMs, userId, signal }: FileOptions,
): Promise<PromptFiles> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
  const hearing = AbortSignal.any([signal, AbortSignal.timeout(recordingsWithinMs)]);
  const reading: FileReading = { userId, signal: patience };
  let isComplete = true;
  const room: Room = {
    characters: Math.floor(Math.min(ALL_CHARACTERS, window * CHARACTERS_PER_WINDOW_TOKEN)),
    pictures: PICTURES,
    bytes: PICTURE_BYTES,
  };
  const files = new Map<string, AttachedFile[]>();
  const problems: FileNote[] = [];

  function takePictures(pictures: readonly Picture[]): Picture[] {
    return pictures.filter(({ bytes }) => {
      if (room.pictures === 0 || room.bytes < bytes.length) return false;
      room.pictures -= 1;
      room.bytes -= bytes.length;
      return true;
    });
  }

  async function picture(file: StoredFile): Promise<Shown | FileProblem> {
    if (!images) return { text: UNSEEN };
    if (room.pictures === 0) return { text: NOT_SHOWN };
    const read = await contents.picture(file, reading);
    if (isProblem(read)) return read;
    const taken = takePictures([read]);
    return taken.length === 0 ? { text: NOT_SHOWN } : { pictures: taken.map(toPicture) };
  }

  async function scannedPages(file: StoredFile, scanned: readonly number[]): Promise<Picture[]> {
    const wanted = images ? scanned.slice(0, Math.min(SCANNED_PAGES, room.pictures)) : [];
    if (wanted.length === 0) return [];
    const read = await contents.pages(file, wanted, reading);
    return isProblem(read) ? [] : takePictures(read);
  }

  async function text(file: StoredFile, share: number): Promise<Shown | FileProblem> {
    const allowed = Math.min(FILE_CHARACTERS, room.characters, share);
    if (allowed < LEAST_CHARACTERS) return { text: NOT_SHOWN };
    const read = await contents.text(file, reading);
    if (isProblem(read)) return read;
    const selected = selectText(read, {}, allowed);
    room.characters -= selected.text.length;
    const pictures = await scannedPages(file, read.scanned);
    return { text: selected.text, pictures: pictures.map(toPicture) };
  }

  async function recording(file: StoredFile, share: number, isAnswered: boolean): Promise<Shown | FileProblem> {
    // Earlier recordings are transcribed on request only: each costs something.
    if (!isAnswered && typeof file.transcript !== 'string') return { text: NOT_TRANSCRIBED };
    const allowed = Math.min(FILE_CHARACTERS, room.characters, share);
    if (allowed < LEAST_CHARACTERS) return { text: NOT_SHOWN };
    const read = await transcripts.read(file, turn, hearing);
    if (isProblem(read)) return read;
    const selected = selectText(read, {}, allowed);
    room.characters -= selected.text.length;
    return { text: selected.text, recording: Recording.ATTACHED };
  }

  async function contentOf(file: StoredFile, share: number, isAnswered: boolean): Promise<Shown | FileProblem> {
    try {
      if (isAudio(file)) return await recording(file, share, isAnswered);
      return isPictureFile(file) ? await picture(file) : await text(file, share);
    } catch (error) {
      const isLate = isAudio(file) ? hearing.aborted : patience.aborted;
      if (signal.aborted || !isLate) throw error;
      isComplete = false;
      return { text: NOT_IN_TIME };
    }
  }

  async function shown(file: StoredFile, share: number, isAnswered: boolean): Promise<AttachedFile> {
    const content = await contentOf(file, share, isAnswered);
    if (!isProblem(content)) return create(AttachedFileSchema, { name: file.name, ...content });
    if (isAnswered && content.problem !== 'busy') problems.push({ file, message: content.message });
    return create(AttachedFileSchema, { name: file.name, text: `Cannot be read: ${content.message}` });
  }

  const withFiles = newestFirst.filter(({ role, attachments }) => role === 'user' && attachments !== undefined);
  for (const [age, { id, text: written, attachments = [] }] of withFiles.entries()) {
    // The user's spoken words stay in the conversation as typed ones do, while there is room.
    const isShown = (file: StoredFile): boolean => (age < MESSAGES ? !isVideo(file) : Boolean(file.transcript));
    const readable = attachments.filter(isShown);
    const isSpoken = written === filesOnly(attachments);
    const list: AttachedFile[] = [];
    // A message's files share the room.
    for (const [at, file] of readable.entries()) {
      const one = await shown(file, Math.floor(room.characters / (readable.length - at)), answered.includes(id));
      const isMessage = isSpoken && one.recording === Recording.ATTACHED;
      list.push(isMessage ? { ...one, recording: Recording.MESSAGE } : one);
    }
    if (list.length > 0 || age < MESSAGES) files.set(id, list);
  }
  return { files, problems, isComplete };
}
