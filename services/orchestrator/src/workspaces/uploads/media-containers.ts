import type { ITokenizer } from 'strtok3';
import { readMatroska } from './matroska.js';
import type { ContainerReader, MediaTracks } from './media-tracks.js';

async function read(tokenizer: ITokenizer, bytes: number): Promise<Buffer> {
  const target = Buffer.alloc(bytes);
  await tokenizer.readBuffer(target);
  return target;
}

const AUDIO = { hasAudio: true, hasVideo: false };

/** Core Audio Format, which iOS records. */
async function readCaf(tokenizer: ITokenizer): Promise<MediaTracks> {
  let rate = 0;
  let [bytesPerPacket, framesPerPacket] = [0, 0];
  let frames: number | undefined;
  let bytes: number | undefined;
  await tokenizer.ignore(8);
  const size = tokenizer.fileInfo.size ?? 0;
  while (tokenizer.position + 12 <= size) {
    const header = await read(tokenizer, 12);
    const type = header.toString('latin1', 0, 4);
    const length = Number(header.readBigInt64BE(4));
    const start = tokenizer.position;
    const end = length < 0 || start + length > size ? size : start + length;
    if (type === 'desc') {
      const format = await read(tokenizer, 32);
      rate = format.readDoubleBE(0);
      [bytesPerPacket, framesPerPacket] = [format.readUInt32BE(16), format.readUInt32BE(20)];
    } else if (type === 'pakt') {
      const table = await read(tokenizer, 16);
      const [packets, valid] = [Number(table.readBigInt64BE(0)), Number(table.readBigInt64BE(8))];
      frames = valid > 0 ? valid : packets * framesPerPacket;
    } else if (type === 'data') {
      // The chunk begins with an edit count.
      bytes = Math.max(0, end - start - 4);
    }
    await tokenizer.ignore(Math.max(0, end - tokenizer.position));
  }
  if (bytesPerPacket > 0 && bytes !== undefined) frames ??= (bytes / bytesPerPacket) * framesPerPacket;
  return { ...AUDIO, duration: frames === undefined || !(rate > 0) ? undefined : frames / rate };
}

/** Bytes per frame after its first byte, by type. Each frame is 20 ms. */
const AMR_FRAMES = [12, 13, 15, 17, 19, 20, 26, 31, 5, 6, 5, 5, 0, 0, 0, 0];
const AMR_WB_FRAMES = [17, 23, 32, 36, 40, 46, 50, 58, 60, 5, 0, 0, 0, 0, 0, 0];
const AMR_FRAME_SECONDS = 0.02;

/** Adaptive Multi-Rate, which phones record. */
async function readAmr(tokenizer: ITokenizer): Promise<MediaTracks | undefined> {
  const magic = (await read(tokenizer, 6)).toString('latin1');
  const isWide = magic === '#!AMR-';
  if (isWide) await tokenizer.ignore(3);
  else if (magic !== '#!AMR\n') return undefined;
  const size = tokenizer.fileInfo.size ?? 0;
  let frames = 0;
  while (tokenizer.position < size) {
    const type = ((await read(tokenizer, 1)).readUInt8() >> 3) & 15;
    const bytes = (isWide ? AMR_WB_FRAMES : AMR_FRAMES)[type] ?? 0;
    if (tokenizer.position + bytes > size) break;
    await tokenizer.ignore(bytes);
    frames += 1;
  }
  return frames === 0 ? undefined : { ...AUDIO, duration: frames * AMR_FRAME_SECONDS };
}

const MAX_HEADER = 64 * 1_024;

async function readStart(tokenizer: ITokenizer, bytes = MAX_HEADER): Promise<Buffer> {
  const start = Buffer.alloc(Math.min(bytes, tokenizer.fileInfo.size ?? 0));
  await tokenizer.peekBuffer(start, { position: 0 });
  return start;
}

async function readEnd(tokenizer: ITokenizer, bytes: number): Promise<Buffer> {
  const size = tokenizer.fileInfo.size ?? 0;
  const end = Buffer.alloc(Math.min(bytes, size));
  await tokenizer.peekBuffer(end, { position: size - end.length });
  return end;
}

/** AVI keeps its stream headers in the first list. */
async function readAvi(tokenizer: ITokenizer): Promise<MediaTracks> {
  const start = await readStart(tokenizer);
  const tracks: MediaTracks = { hasAudio: false, hasVideo: false, duration: undefined };
  for (let at = start.indexOf('strh'); at !== -1 && at + 44 <= start.length; at = start.indexOf('strh', at + 4)) {
    const kind = start.toString('latin1', at + 8, at + 12);
    if (kind !== 'vids' && kind !== 'auds') continue;
    tracks[kind === 'vids' ? 'hasVideo' : 'hasAudio'] = true;
    const [scale, rate, length] = [28, 32, 40].map((offset) => start.readUInt32LE(at + offset)) as [
      number,
      number,
      number,
    ];
    if (rate > 0 && scale > 0) tracks.duration = Math.max(tracks.duration ?? 0, (length * scale) / rate);
  }
  return tracks;
}

/** The last tag has the end time. */
async function readFlv(tokenizer: ITokenizer): Promise<MediaTracks> {
  const size = tokenizer.fileInfo.size ?? 0;
  const flags = (await readStart(tokenizer, 9))[4] ?? 0;
  const length = (await readEnd(tokenizer, 4)).readUInt32BE();
  const tag = Buffer.alloc(11);
  await tokenizer.peekBuffer(tag, { position: size - 4 - length });
  const milliseconds = tag.readUIntBE(4, 3) + (tag[7] ?? 0) * 2 ** 24;
  return { hasAudio: (flags & 4) !== 0, hasVideo: (flags & 1) !== 0, duration: milliseconds / 1_000 };
}

/** Only the first and the last part of an MPEG stream are read. */
const MPEG_PART = 512 * 1_024;
const CLOCK = 90_000;
const CLOCK_WRAP = 2 ** 33;

interface Packets {
  hasAudio: boolean;
  hasVideo: boolean;
  times: number[];
}

/** Adds the elementary stream packet at `at`, if there is one. */
function addPacket(bytes: Buffer, at: number, found: Packets): void {
  if (at + 14 > bytes.length || bytes.readUIntBE(at, 3) !== 1) return;
  const stream = bytes[at + 3] ?? 0;
  const isVideo = (stream & 0xf0) === 0xe0;
  const isAudio = (stream & 0xe0) === 0xc0 || stream === 0xbd || stream === 0xfd;
  if (!isVideo && !isAudio) return;
  found[isVideo ? 'hasVideo' : 'hasAudio'] = true;
  // In MPEG-2 flags come before the time; in MPEG-1 the time follows after padding.
  let time = at + 9;
  if ((bytes[at + 6] ?? 0) >> 6 === 2) {
    if (((bytes[at + 7] ?? 0) & 0x80) === 0) return;
  } else {
    time = at + 6;
    while (bytes[time] === 0xff && time < at + 22) time += 1;
    if ((bytes[time] ?? 0) >> 6 === 1) time += 2;
    if ((bytes[time] ?? 0) >> 4 < 2 || (bytes[time] ?? 0) >> 4 > 3) return;
  }
  if (time + 5 > bytes.length) return;
  const [high = 0, ...low] = bytes.subarray(time, time + 5);
  const [a = 0, b = 0, c = 0, d = 0] = low;
  found.times.push(((high >> 1) & 7) * 2 ** 30 + (a << 22) + ((b >> 1) << 15) + (c << 7) + (d >> 1));
}

/** Transport stream packets have 188 bytes, or 192 with a leading timestamp. */
function transportPackets(bytes: Buffer, found: Packets): void {
  const step = [188, 192].find((length) => syncAt(bytes, length) !== -1);
  if (step === undefined) return;
  for (let at = syncAt(bytes, step); at + 188 <= bytes.length; at += step) {
    const [, flags = 0, , control = 0, skipped = 0] = bytes.subarray(at, at + 5);
    if ((flags & 0x40) === 0 || (control & 0x10) === 0) continue;
    addPacket(bytes, at + 4 + ((control & 0x20) === 0 ? 0 : skipped + 1), found);
  }
}

function syncAt(bytes: Buffer, step: number): number {
  for (let at = 0; at < step && at + 2 * step < bytes.length; at += 1) {
    if ([0, 1, 2].every((n) => bytes[at + n * step] === 0x47)) return at;
  }
  return -1;
}

function programPackets(bytes: Buffer, found: Packets): void {
  for (let at = bytes.indexOf('\0\0\x01', 0, 'latin1'); at !== -1; at = bytes.indexOf('\0\0\x01', at + 3, 'latin1')) {
    addPacket(bytes, at, found);
  }
}

function mpegReader(addPackets: (bytes: Buffer, found: Packets) => void): ContainerReader {
  return async (tokenizer) => {
    const start: Packets = { hasAudio: false, hasVideo: false, times: [] };
    const end: Packets = { hasAudio: false, hasVideo: false, times: [] };
    addPackets(await readStart(tokenizer, MPEG_PART), start);
    addPackets(await readEnd(tokenizer, MPEG_PART), end);
    if (!start.hasAudio && !start.hasVideo) return undefined;
    const first = start.times.reduce((a, b) => Math.min(a, b), Infinity);
    const last = end.times.reduce((a, b) => Math.max(a, b), -Infinity);
    const ticks = last < first ? last + CLOCK_WRAP - first : last - first;
    return {
      hasAudio: start.hasAudio || end.hasAudio,
      hasVideo: start.hasVideo || end.hasVideo,
      duration: Number.isFinite(ticks) ? ticks / CLOCK : undefined,
    };
  };
}

/** By media type. */
export const CONTAINERS: Readonly<Record<string, ContainerReader>> = {
  'video/webm': readMatroska,
  'video/matroska': readMatroska,
  'audio/x-caf': readCaf,
  'audio/amr': readAmr,
  'audio/amr-wb': readAmr,
  'video/vnd.avi': readAvi,
  'video/x-flv': readFlv,
  'video/mp2t': mpegReader(transportPackets),
  'video/mp1s': mpegReader(programPackets),
  'video/mp2p': mpegReader(programPackets),
  'video/mpeg': mpegReader(programPackets),
};
