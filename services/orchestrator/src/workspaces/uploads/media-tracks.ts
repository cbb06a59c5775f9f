import type { ITokenizer } from 'strtok3';

/** Undefined fields are unknown. */
export interface MediaTracks {
  hasAudio: boolean;
  hasVideo: boolean;
  /** In seconds. */
  duration: number | undefined;
}

/** Reads a container that music-metadata does not know, or not as recorders write it. */
export type ContainerReader = (tokenizer: ITokenizer) => Promise<MediaTracks | undefined>;
