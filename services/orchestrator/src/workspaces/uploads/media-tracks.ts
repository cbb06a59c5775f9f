import type { ITokenizer } from 'strtok3';

/** The container's tracks. Undefined: not known. */
export interface MediaTracks {
  hasAudio: boolean;
  hasVideo: boolean;
  /** In seconds. */
  duration: number | undefined;
}

/** Reads a container that music-metadata does not know, or not as recorders write it. */
export type ContainerReader = (tokenizer: ITokenizer) => Promise<MediaTracks | undefined>;
