import { z } from 'zod';
import { AttachmentType } from '../enums.js';
import { LIMITS } from '../limits.js';
import { Id } from './primitives.js';

const UNSIZED = 'Null for other files, if the file does not show it, and for uploads of earlier releases.';

export const Attachment = z
  .strictObject({
    id: Id.meta({ description: 'Identifies the file, to attach it to messages.' }),
    url: z.string().meta({
      description:
        'A link that anyone can download the file with, for 15 to 30 minutes. It stays the same for up to 15 minutes. A path of the API ' +
        'unless the service has a public URL.',
    }),
    type: AttachmentType.meta({ description: 'How to show the file.' }),
    name: z
      .string()
      .meta({ description: 'The file name that the client sent, without folders and control characters.' }),
    size: z.int().nonnegative().meta({ description: 'Length of the file in bytes.' }),
    mime_type: z.string().meta({
      description: 'The media type, detected from the content: `image/png`; `application/octet-stream` if unknown.',
    }),
    duration: z.int().nonnegative().nullable().meta({
      description: 'Seconds of audio and video, rounded; null for other files and if the file does not show it.',
    }),
    width: z
      .int()
      .positive()
      .nullish()
      .meta({
        description: `Pixels of a picture from left to right, as it is displayed. ${UNSIZED}`,
        'x-extension': true,
      }),
    height: z
      .int()
      .positive()
      .nullish()
      .meta({
        description: `Pixels of a picture from top to bottom, as it is displayed. ${UNSIZED}`,
        'x-extension': true,
      }),
    transcript: z
      .string()
      .nullish()
      .meta({
        description:
          `The spoken words in an audio file, up to ${LIMITS.transcript} characters, as a model recognized them: plain text that may be wrong. Empty without ` +
          'speech. Null for other files and until it is transcribed; `message.updated` announces it. Ignored in requests.',
        'x-extension': true,
      }),
  })
  .meta({ id: 'Attachment', description: 'A file of the user. Its content never changes.' });
export type Attachment = z.output<typeof Attachment>;
