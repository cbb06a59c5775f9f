import type { IAudioMetadata, ITrackInfo } from 'music-metadata';
import { CONTAINERS } from './media-containers.js';
import type { ContainerReader } from './media-tracks.js';
import type { ObjectTokenizer } from './object-tokenizer.js';

/** Opens the file again, from its beginning. */
export type OpenTokenizer = (maxOperations: number) => ObjectTokenizer;

export interface Media {
  /** An audio type if the file has no video track. */
  mimeType: string;
  /** Whole seconds. */
  seconds: number | null;
}

interface Tracks {
  hasAudio: boolean;
  hasVideo: boolean;
  durations: (number | undefined)[];
}

const MAX_SECONDS = 2 ** 31 - 1;
const OPERATIONS = 100_000;
/** Streams without an index are read frame by frame, and the parser keeps no frames. */
const FRAME_OPERATIONS = 2_000_000;
const FRAMED = new Set(['audio/mpeg', 'audio/aac']);
/** The library knows only some names for these containers. */
const SAME_CONTAINER: Readonly<Record<string, string>> = {
  'video/3gpp': 'video/mp4',
  'video/3gpp2': 'video/mp4',
  'video/quicktime': 'video/mp4',
  'video/x-m4v': 'video/mp4',
};
/** Covers are stored as tracks with a picture codec. */
const PICTURE = /jpeg|png|<mp4v>/i;
const TRACK_OF_VIDEO = 1;
/** A longer track is a film. */
const COVER_SECONDS = 1;

const isDuration = (seconds: number | undefined): seconds is number =>
  seconds !== undefined && seconds >= 0 && seconds <= MAX_SECONDS;

export async function readMedia(open: OpenTokenizer, mimeType: string): Promise<Media> {
  const container = CONTAINERS[mimeType.toLowerCase()];
  const tracks = await (container === undefined ? readTracks(open, mimeType) : readContainer(open, container));
  const seconds = tracks.durations.flatMap((duration) => (isDuration(duration) ? [Math.round(duration)] : []));
  return { mimeType: mediaTypeOf(mimeType, tracks), seconds: seconds.length === 0 ? null : Math.max(...seconds) };
}

function mediaTypeOf(mimeType: string, { hasAudio, hasVideo }: Tracks): string {
  if (hasVideo) return mimeType.replace(/^audio\//, 'video/').replace('video/x-m4a', 'video/mp4');
  if (!hasAudio) return mimeType;
  return mimeType.replace(/^video\//, 'audio/').replace('audio/x-m4v', 'audio/mp4');
}

async function readContainer(open: OpenTokenizer, reader: ContainerReader): Promise<Tracks> {
  const tracks = await reader(open(FRAME_OPERATIONS));
  if (tracks === undefined) throw new Error('the container has no tracks');
  return { ...tracks, durations: [tracks.duration] };
}

async function readTracks(open: OpenTokenizer, mimeType: string): Promise<Tracks> {
  // The library needs memory, so the first such file loads it.
  const { parseFromTokenizer } = await import('music-metadata');
  const tokenizer = open(FRAMED.has(mimeType) ? FRAME_OPERATIONS : OPERATIONS);
  tokenizer.fileInfo = { ...tokenizer.fileInfo, mimeType: SAME_CONTAINER[mimeType] ?? mimeType };
  const options = { duration: true, skipCovers: true };
  const { format } = await parseFromTokenizer(tokenizer, options);
  return tracksOf(format);
}

const isPicture = ({ codecName = '' }: ITrackInfo): boolean => PICTURE.test(codecName);

function tracksOf(format: IAudioMetadata['format']): Tracks {
  const { hasAudio = false, hasVideo = false, trackInfo } = format;
  const audio = format.duration ?? Math.max(0, ...trackInfo.map(({ duration = 0 }) => duration));
  const isCover = (track: ITrackInfo): boolean =>
    isPicture(track) &&
    (track.duration === undefined ? isAsf(format) : track.duration <= COVER_SECONDS && track.duration * 2 < audio);
  const hasCover = hasAudio && trackInfo.some(isCover);
  const others = trackInfo.filter((track) => !isCover(track));
  // QuickTime does not tell which track is the sound.
  const [untyped, films] = [undefined, TRACK_OF_VIDEO].map((kind) => others.filter(({ type }) => type === kind).length);
  return {
    hasAudio,
    hasVideo: hasVideo && (!hasCover || (films ?? 0) > 0 || (untyped ?? 0) > 1),
    durations: [format.duration, ...trackInfo.map(({ duration }) => duration)],
  };
}

const isAsf = ({ container = '' }: IAudioMetadata['format']): boolean => container.startsWith('ASF');
