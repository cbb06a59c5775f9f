const MIB = 1024 * 1024;

/** Bytes of the bodies of all entries in the journal of a turn. A runtime and an orchestrator have 512 MiB, and hold several copies of it. */
export const MAX_TURN_JOURNAL_BYTES = 16 * MIB;
/** The part of a journal that images may have, so that the rest of the turn has space. */
export const JOURNAL_IMAGES = 3 / 4;
/** Bytes of the images in the model requests of a turn, in Base64: 9 MiB of image files. */
export const MAX_TURN_IMAGE_BYTES = MAX_TURN_JOURNAL_BYTES * JOURNAL_IMAGES;
/** Bytes of everything else in a model request, which the context window of the model limits too. */
const MAX_REQUEST_TEXT_BYTES = 8 * MIB;
/** Bytes of a model request. Runtimes send no larger ones, and the model gateway refuses them. */
export const MAX_MODEL_REQUEST_BYTES = MAX_TURN_IMAGE_BYTES + MAX_REQUEST_TEXT_BYTES;
