const MIB = 1024 * 1024;

/**
 * Bytes of all entry bodies in a turn journal. A runtime and an orchestrator have 512 MiB, and hold several copies of
 * it.
 */
export const MAX_TURN_JOURNAL_BYTES = 16 * MIB;
/** The share of images in a journal, so that the rest of the turn has space. */
export const JOURNAL_IMAGES = 3 / 4;
/** Base64 bytes for all images in a turn's model requests: 9 MiB of image files. */
export const MAX_TURN_IMAGE_BYTES = MAX_TURN_JOURNAL_BYTES * JOURNAL_IMAGES;
/** Bytes of everything else in a model request, which the model's context window limits too. */
const MAX_REQUEST_TEXT_BYTES = 8 * MIB;
/** Bytes in a model request. Runtimes send no larger ones, and the model gateway refuses them. */
export const MAX_MODEL_REQUEST_BYTES = MAX_TURN_IMAGE_BYTES + MAX_REQUEST_TEXT_BYTES;
