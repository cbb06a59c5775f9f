import type { ITokenizer } from 'strtok3';
import type { MediaTracks } from './media-tracks.js';

const SEGMENT = 0x18_53_80_67;
const INFO = 0x15_49_a9_66;
const TIME_SCALE = 0x2a_d7_b1;
const DURATION = 0x44_89;
const TRACKS = 0x16_54_ae_6b;
const TRACK = 0xae;
const TRACK_NUMBER = 0xd7;
const TRACK_TYPE = 0x83;
const CODEC = 0x86;
const CLUSTER = 0x1f_43_b6_75;
const CLUSTER_TIME = 0xe7;
const SIMPLE_BLOCK = 0xa3;
const BLOCK_GROUP = 0xa0;
const BLOCK = 0xa1;
const BLOCK_DURATION = 0x9b;
/** Only these are entered; others are skipped. So elements may have an open length, as recorders write them. */
const CONTAINERS = new Set([SEGMENT, INFO, TRACKS, TRACK, CLUSTER, BLOCK_GROUP]);
const DEFAULT_SCALE = 1_000_000;
const VIDEO = 1;
const AUDIO = 2;
/** Covers are tracks with a picture codec and one block. */
const PICTURE = /^V_MJPEG|PNG|JPEG/i;
/** Enough for an element header with a block header, or for a short value. */
const HEADER_BYTES = 64;

interface Track {
  number: number;
  type: number;
  codec: string;
  blocks: number;
}

interface State {
  scale: number;
  /** In scale units, as all times. */
  duration: number | undefined;
  tracks: Track[];
  cluster: number;
  block: number;
  /** The latest block time. */
  last: number;
}

/**
 * Reads Matroska and WebM. Recorders write the header before they know the length: then the block times show it. All
 * blocks are also read if there may be a cover.
 */
export async function readMatroska(tokenizer: ITokenizer): Promise<MediaTracks> {
  const state: State = { scale: DEFAULT_SCALE, duration: undefined, tracks: [], cluster: 0, block: 0, last: 0 };
  const size = tokenizer.fileInfo.size ?? 0;
  const header = Buffer.alloc(HEADER_BYTES);
  while (tokenizer.position < size) {
    const length = await tokenizer.peekBuffer(header, { mayBeLess: true });
    const element = elementIn(header.subarray(0, length));
    if (element === undefined) break;
    const { id, start, bytes } = element;
    if (id === CLUSTER && state.duration !== undefined && !state.tracks.some(({ codec }) => PICTURE.test(codec))) break;
    addElement(id, header.subarray(start, Math.min(length, start + bytes)), state);
    await tokenizer.ignore(CONTAINERS.has(id) ? start : start + bytes);
  }
  const { tracks, duration, last, scale } = state;
  const hasAudio = tracks.some(({ type }) => type === AUDIO);
  const isFilm = ({ type, codec, blocks }: Track): boolean =>
    type === VIDEO && !(hasAudio && PICTURE.test(codec) && blocks <= 1);
  const time = duration ?? (last > 0 ? last : undefined);
  return {
    hasAudio,
    hasVideo: tracks.some(isFilm),
    duration: time === undefined ? undefined : (time * scale) / 1e9,
  };
}

function addElement(id: number, value: Buffer, state: State): void {
  const track = state.tracks.at(-1);
  if (id === TIME_SCALE) state.scale = numberIn(value);
  if (id === DURATION && value.length >= 4)
    state.duration = value.length < 8 ? value.readFloatBE() : value.readDoubleBE();
  if (id === TRACK) state.tracks.push({ number: 0, type: 0, codec: '', blocks: 0 });
  if (id === TRACK_NUMBER && track !== undefined) track.number = numberIn(value);
  if (id === TRACK_TYPE && track !== undefined) track.type = numberIn(value);
  if (id === CODEC && track !== undefined) track.codec = value.toString('latin1');
  if (id === CLUSTER_TIME) state.cluster = numberIn(value);
  if (id === BLOCK_DURATION) state.last = Math.max(state.last, state.block + numberIn(value));
  if (id === SIMPLE_BLOCK || id === BLOCK) addBlock(value, state);
}

function addBlock(value: Buffer, state: State): void {
  const number = variableInteger(value, 0);
  if (number === undefined || number.end + 2 > value.length) return;
  state.block = state.cluster + value.readInt16BE(number.end);
  state.last = Math.max(state.last, state.block);
  const track = state.tracks.find((candidate) => candidate.number === number.value);
  if (track !== undefined) track.blocks += 1;
}

interface Element {
  id: number;
  /** Element header size in bytes. */
  start: number;
  bytes: number;
}

function elementIn(header: Buffer): Element | undefined {
  const idBytes = Math.clz32(header[0] ?? 0) - 23;
  if (idBytes > 4 || header.length < idBytes + 1) return undefined;
  const size = variableInteger(header, idBytes);
  return size === undefined ? undefined : { id: header.readUIntBE(0, idBytes), start: size.end, bytes: size.value };
}

/** The first set bit gives the length. */
function variableInteger(bytes: Buffer, at: number): { value: number; end: number } | undefined {
  const length = Math.clz32(bytes[at] ?? 0) - 23;
  if (length > 8 || at + length > bytes.length) return undefined;
  const first = (bytes[at] ?? 0) & (0xff >> length);
  return {
    value: bytes.subarray(at + 1, at + length).reduce((sum, byte) => sum * 256 + byte, first),
    end: at + length,
  };
}

const numberIn = (bytes: Buffer): number => bytes.reduce((sum, byte) => sum * 256 + byte, 0);
