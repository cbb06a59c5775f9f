import { describe, expect, it } from '@jest/globals';
import { renderResources } from './resources.js';

const defaults = { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } };

describe('renderResources', () => {
  it('CRD-008: each amount in the spec overrides the default amount', () => {
    const own = { requests: { cpu: '0.25' }, limits: { cpu: '2', memory: '1024Mi' } };
    expect(renderResources(own, defaults)).toEqual({
      requests: { cpu: '250m', memory: '128Mi' },
      limits: { cpu: '2', memory: '1Gi' },
    });
  });

  it('adjusts a default that contradicts the spec', () => {
    expect(renderResources({ limits: { memory: '64Mi' } }, defaults).requests?.['memory']).toBe('64Mi');
    expect(renderResources({ requests: { memory: '1Gi' } }, defaults).limits?.['memory']).toBe('1Gi');
  });

  it('returns no amounts if neither the spec nor the defaults have any', () => {
    expect(renderResources(undefined, {})).toEqual({});
    expect(renderResources({ requests: {} }, {})).toEqual({});
  });
});
