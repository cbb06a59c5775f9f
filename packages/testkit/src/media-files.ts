/** Small media files of a given length, written by this file. Their content is silence or zeros. */

const ascii = (text: string) => Buffer.from(text, 'latin1');
const le32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
const le16 = (value: number) => Buffer.from(Uint16Array.of(value).buffer);
function be32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function wav(seconds: number): Buffer {
  const rate = 8_000;
  const samples = Buffer.alloc(Math.round(rate * seconds), 0x80);
  const format = Buffer.concat([le16(1), le16(1), le32(rate), le32(rate), le16(1), le16(8)]);
  const chunks = [ascii('WAVEfmt '), le32(format.length), format, ascii('data'), le32(samples.length), samples];
  const body = Buffer.concat(chunks);
  return Buffer.concat([ascii('RIFF'), le32(body.length), body]);
}

/**
 * MPEG-1 layer III, mono, 32 kHz: each frame is 36 ms. The bit rates take turns and no header states the number of frames, so
 * a reader must count them.
 */
export function mp3(seconds: number): Buffer {
  const frames = Array.from({ length: Math.round(seconds / 0.036) }, (_, n) => {
    const [index, bytes] = n % 2 === 0 ? [0x98, 576] : [0x58, 288];
    return Buffer.concat([Buffer.from([0xff, 0xfb, index, 0xc0])], bytes);
  });
  return Buffer.concat(frames);
}

/** AAC in ADTS frames of 64 ms at 16 kHz. */
export function aac(seconds: number): Buffer {
  const length = 64;
  const header = [0xff, 0xf1, 0x60, 0x40, length >> 3, ((length & 7) << 5) | 0x1f, 0xfc];
  return Buffer.concat(
    Array.from({ length: Math.round(seconds / 0.064) }, () => Buffer.from(header)).map(padTo(length)),
  );
}

const padTo = (length: number) => (bytes: Buffer) => Buffer.concat([bytes], length);

export function flac(seconds: number): Buffer {
  const rate = 8_000;
  const info = Buffer.alloc(34);
  info.writeUInt16BE(4_096, 0);
  info.writeUInt16BE(4_096, 2);
  // 20 bits sample rate, 3 bits channels - 1, 5 bits bits per sample - 1, 36 bits number of samples.
  info.writeUInt32BE(((rate << 12) | (15 << 4)) >>> 0, 10);
  info.writeUInt32BE(Math.round(rate * seconds), 14);
  return Buffer.concat([ascii('fLaC'), Buffer.from([0x80, 0, 0, 34]), info, Buffer.alloc(64)]);
}

/** Opus in Ogg: the last page's position is the length at 48 kHz. */
export function ogg(seconds: number): Buffer {
  const head = Buffer.concat([
    ascii('OpusHead'),
    Buffer.from([1, 1]),
    le16(0),
    le32(48_000),
    le16(0),
    Buffer.from([0]),
  ]);
  const tags = Buffer.concat([ascii('OpusTags'), le32(4), ascii('test'), le32(0)]);
  const audio = Buffer.alloc(40);
  return Buffer.concat([
    oggPage(2, 0, 0, head),
    oggPage(0, 0, 1, tags),
    oggPage(4, Math.round(seconds * 48_000), 2, audio),
  ]);
}

function oggPage(flags: number, position: number, number: number, packet: Buffer): Buffer {
  const start = [ascii('OggS'), Buffer.from([0, flags]), le32(position), le32(0), le32(7), le32(number), le32(0)];
  return Buffer.concat([...start, Buffer.from([1, packet.length]), packet]);
}

const box = (type: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([be32(body.length + 8), ascii(type), body]);
};

const SCALE = 1_000;
const mp4Times = (seconds: number) => [be32(0), be32(0), be32(0), be32(SCALE), be32(Math.round(seconds * SCALE))];

function mp4Track(number: number, seconds: number, handler: string, codec?: string): Buffer {
  const times = mp4Times(seconds);
  const entry = [be32(86), ascii(codec ?? ''), Buffer.alloc(6), be32(1).subarray(2), Buffer.alloc(70)];
  return box(
    'trak',
    box('tkhd', be32(3), be32(0), be32(0), be32(number), be32(0), times.at(-1) ?? be32(0), Buffer.alloc(60)),
    box(
      'mdia',
      box('mdhd', ...times, Buffer.alloc(4)),
      box('hdlr', be32(0), be32(0), ascii(handler), Buffer.alloc(13)),
      ...(codec === undefined ? [] : [box('minf', box('stbl', box('stsd', be32(0), be32(1), ...entry)))]),
    ),
  );
}

function mp4File(brand: string, seconds: number, tracks: readonly Buffer[]): Buffer {
  return Buffer.concat([
    box('ftyp', ascii(brand), be32(0), ascii(brand)),
    box('mdat', Buffer.alloc(300_000)),
    box('moov', box('mvhd', ...mp4Times(seconds), be32(0x00_01_00_00), Buffer.alloc(76)), ...tracks),
  ]);
}

/** MP4 with one track. Its index is at the end, as cameras write it. */
export const mp4 = (seconds: number, brand = 'isom', handler = 'vide') =>
  mp4File(brand, seconds, [mp4Track(1, seconds, handler)]);

/** Sound with a picture, which is a track of one frame. */
export const mp4Cover = (seconds: number) =>
  mp4File('isom', seconds, [mp4Track(1, seconds, 'soun'), mp4Track(2, 0.04, 'vide', 'jpeg')]);

/** M4A, as voice memos on phones. */
export const m4a = (seconds: number) => mp4(seconds, 'M4A ', 'soun');

/** Phone voice memos, and sound-only QuickTime. */
export const threeGp = (seconds: number) => mp4(seconds, '3gp4', 'soun');
export const threeG2 = (seconds: number) => mp4(seconds, '3g2a', 'soun');
export const mov = (seconds: number) => mp4(seconds, 'qt  ', 'soun');
export const mp4Sound = (seconds: number) => mp4(seconds, 'isom', 'soun');

const element = (id: number[], ...parts: Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(id), Buffer.from([0x10]), be32(body.length).subarray(1), body]);
};

export function webm(seconds: number): Buffer {
  const duration = Buffer.alloc(8);
  duration.writeDoubleBE(seconds * 1_000);
  return Buffer.concat([
    element([0x1a, 0x45, 0xdf, 0xa3], element([0x42, 0x82], ascii('webm'))),
    element(
      [0x18, 0x53, 0x80, 0x67],
      element(
        [0x15, 0x49, 0xa9, 0x66],
        element([0x2a, 0xd7, 0xb1], Buffer.from([0x0f, 0x42, 0x40])),
        element([0x44, 0x89], duration),
      ),
    ),
  ]);
}

/** An element of unknown length, as recorders write it. */
const openElement = (id: number[], ...parts: Buffer[]) =>
  Buffer.concat([Buffer.from([...id, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), ...parts]);

function matroskaTrack(number: number, codec: string): Buffer {
  const type = codec.startsWith('A_') ? 2 : 1;
  const settings = type === 2 ? element([0xe1]) : element([0xe0], element([0xb0], Buffer.from([64])));
  const fields = [element([0xd7], Buffer.from([number])), element([0x83], Buffer.from([type]))];
  return element([0xae], ...fields, element([0x86], ascii(codec)), settings);
}

/**
 * Mimics a browser recording: its header has no length, because it is written first. Each codec gets a track with a block each second;
 * a picture track gets only the first one.
 */
export function matroskaRecording(seconds: number, codecs: readonly string[], kind = 'webm'): Buffer {
  const clusters = Array.from({ length: Math.ceil(seconds) + 1 }, (_, second) => {
    const at = Math.min(second, seconds) * 1_000;
    const tracks = codecs.map((codec, index) => ({ codec, number: index + 1 }));
    const blocks = tracks
      .filter(({ codec }) => second === 0 || codec !== 'V_MJPEG')
      .map(({ number }) => element([0xa3], Buffer.from([0x80 | number, 0, 0, 0x80]), Buffer.alloc(40)));
    return openElement([0x1f, 0x43, 0xb6, 0x75], element([0xe7], be32(Math.round(at))), ...blocks);
  });
  return Buffer.concat([
    element([0x1a, 0x45, 0xdf, 0xa3], element([0x42, 0x82], ascii(kind))),
    openElement(
      [0x18, 0x53, 0x80, 0x67],
      element([0x15, 0x49, 0xa9, 0x66], element([0x2a, 0xd7, 0xb1], Buffer.from([0x0f, 0x42, 0x40]))),
      element([0x16, 0x54, 0xae, 0x6b], ...codecs.map((codec, index) => matroskaTrack(index + 1, codec))),
      ...clusters,
    ),
  ]);
}

export const webmVoice = (seconds: number) => matroskaRecording(seconds, ['A_OPUS']);

/** PCM in the Core Audio Format of iOS. */
export function caf(seconds: number): Buffer {
  const rate = 8_000;
  const format = Buffer.alloc(32);
  format.writeDoubleBE(rate, 0);
  format.write('lpcm', 8);
  format.writeUInt32BE(2, 16);
  format.writeUInt32BE(1, 20);
  const sound = Buffer.alloc(4 + 2 * Math.round(rate * seconds));
  const chunk = (type: string, body: Buffer) => Buffer.concat([ascii(type), be32(0), be32(body.length), body]);
  return Buffer.concat([ascii('caff'), Buffer.from([0, 1, 0, 0]), chunk('desc', format), chunk('data', sound)]);
}

/** Phones record voice messages as 20 ms frames at 12.2 kbit/s. */
export function amr(seconds: number): Buffer {
  const frame = Buffer.concat([Buffer.from([0x3c]), Buffer.alloc(31)]);
  return Buffer.concat([ascii('#!AMR\n'), ...Array.from({ length: Math.round(seconds / 0.02) }, () => frame)]);
}

/** A transport stream with one packet each second. @param stream the id: 0xc0 is sound, 0xe0 a picture */
export function transportStream(seconds: number, stream: number): Buffer {
  const packets = Array.from({ length: Math.ceil(seconds) + 1 }, (_, second) => {
    const time = Math.round(Math.min(second, seconds) * 90_000);
    const bits = [
      0x21 | ((time >> 29) & 0x0e),
      (time >> 22) & 0xff,
      0x01 | ((time >> 14) & 0xfe),
      (time >> 7) & 0xff,
      0x01 | ((time << 1) & 0xfe),
    ];
    const packet = Buffer.from([0x47, 0x41, 0, 0x10, 0, 0, 1, stream, 0, 0, 0x80, 0x80, 5, ...bits]);
    return Buffer.concat([packet, Buffer.alloc(188 - packet.length, 0xff)]);
  });
  return Buffer.concat(packets);
}
