import { describe, expect, it } from '@jest/globals';
import { deviceLogFields, isDescribed, readDevice } from './device.js';

const PHONE = {
  'x-device-id': 'E621E1F8-C36C-495A-93FC-0C247A3E6E5F',
  'x-device-info': 'Ada’s iPhone; iPhone 17; iOS 26.1',
  'x-version': '2.14.0+318',
  'x-timezone': 'Europe/Berlin',
};

describe('readDevice', () => {
  it('reads the four device headers', () => {
    expect(readDevice(PHONE)).toEqual({
      id: PHONE['x-device-id'],
      info: PHONE['x-device-info'],
      version: PHONE['x-version'],
      timezone: 'Europe/Berlin',
    });
  });

  it.each([
    ['missing headers', {}],
    ['duplicate headers', { 'x-device-id': ['a', 'b'], 'x-version': ['1', '2'] }],
    ['an id that is too long', { 'x-device-id': 'x'.repeat(129) }],
    ['a time zone that does not exist', { 'x-timezone': 'Mars/Olympus' }],
    ['a time zone that is too long', { 'x-timezone': 'x'.repeat(10_000) }],
    ['unprintable text', { 'x-device-info': '\u0000\u0007\u202e', 'x-device-id': ' \t ' }],
  ])('returns an empty device for %s', (_what, headers) => {
    const device = readDevice(headers);
    expect(device).toEqual({ id: '', info: '', version: '', timezone: '' });
    expect(isDescribed(device)).toBe(false);
  });

  it.each([
    ['GMT+05:30', '+05:30'],
    ['W. Europe Standard Time', 'Europe/Berlin'],
    ['  europe%2Fberlin ', 'Europe/Berlin'],
    ['Mars/Olympus', ''],
  ])('reads the time zone %j as %j', (sent, timezone) => {
    expect(readDevice({ 'x-timezone': sent }).timezone).toBe(timezone);
  });

  it('reduces a text to one storable line', () => {
    const { info } = readDevice({ 'x-device-info': `a\r\nb\u0000c\ud800${'😀'.repeat(300)}` });
    expect(info.startsWith('abc\ufffd😀')).toBe(true);
    expect(info).toHaveLength(300);
    expect(info.isWellFormed()).toBe(true);
  });

  it('shortens a version', () => {
    expect(readDevice({ 'x-version': '1'.repeat(100) }).version).toHaveLength(40);
  });
});

describe('deviceLogFields', () => {
  it('logs version, time zone, platform and a hash of the id, but neither the id nor user text', () => {
    const fields = deviceLogFields(readDevice(PHONE));
    expect(fields).toEqual({
      device: expect.stringMatching(/^[\da-f]{12}$/),
      platform: 'ios',
      appVersion: '2.14.0+318',
      timezone: 'Europe/Berlin',
    });
    expect(JSON.stringify(fields)).not.toMatch(/Ada|E621/);
  });

  it('logs the same hash for one device and different hashes for two devices', () => {
    const fields = (id: string) => deviceLogFields(readDevice({ 'x-device-id': id }))['device'];
    expect(fields('a')).toBe(fields('a'));
    expect(fields('a')).not.toBe(fields('b'));
  });

  it.each([
    ['Pixel 10; Android 17', 'android'],
    ['iPad Pro', 'ios'],
    ['Ada Lovelace’s thing', 'other'],
  ])('returns the platform of %s', (info, platform) => {
    expect(deviceLogFields(readDevice({ 'x-device-info': info }))).toEqual({ platform });
  });

  it('omits an invalid version and headers that were not sent', () => {
    expect(deviceLogFields(readDevice({ 'x-version': 'ada@example.com' }))).toEqual({});
  });
});
