import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createCalibration } from './calibrate.js';

const LARGE = 10_000;

describe('the calibration of estimates', () => {
  it('starts at 1', () => {
    expect(createCalibration().scale('m')).toBe(1);
  });

  it('keeps the greatest ratio that a call of the model needed', () => {
    const calibration = createCalibration();
    for (const reported of [15_000, 12_000]) calibration.observe('m', { estimated: LARGE, scale: 1, reported });
    expect(calibration.scale('m')).toBe(1.5);
    expect(calibration.scale('other')).toBe(1);
  });

  it('never reduces an estimate', () => {
    const calibration = createCalibration();
    calibration.observe('m', { estimated: LARGE, scale: 1, reported: 4_000 });
    expect(calibration.scale('m')).toBe(1);
  });

  it('compares the reported tokens with the estimate before it was scaled', () => {
    const calibration = createCalibration();
    calibration.observe('m', { estimated: 2 * LARGE, scale: 2, reported: 3 * LARGE });
    expect(calibration.scale('m')).toBe(3);
  });

  it('ignores small prompts, in which the text of the provider outweighs the own one', () => {
    const calibration = createCalibration();
    calibration.observe('m', { estimated: 200, scale: 1, reported: 700 });
    expect(calibration.scale('m')).toBe(1);
  });

  it('doubles after each refusal for size, up to 64', () => {
    const calibration = createCalibration();
    calibration.observe('m', { estimated: LARGE, scale: 1, reported: 15_000 });
    calibration.overflowed('m');
    expect(calibration.scale('m')).toBe(3);
    for (let refusal = 0; refusal < 10; refusal += 1) calibration.overflowed('m');
    expect(calibration.scale('m')).toBe(64);
  });

  it('is at least what each observed call needed, and at most 4 without refusals', () => {
    const call = fc.record({
      estimated: fc.integer({ min: 1_000, max: 500_000 }),
      scale: fc.constant(1),
      reported: fc.nat(5_000_000),
    });
    fc.assert(
      fc.property(fc.array(call), (calls) => {
        const calibration = createCalibration();
        for (const observed of calls) calibration.observe('m', observed);
        const scale = calibration.scale('m');
        for (const { estimated, reported } of calls) {
          expect(scale).toBeGreaterThanOrEqual(Math.min(4, reported / estimated));
        }
        expect(scale).toBeLessThanOrEqual(4);
      }),
    );
  });
});
