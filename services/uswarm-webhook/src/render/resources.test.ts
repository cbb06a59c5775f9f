import { describe, expect, it } from '@jest/globals';
import { renderResources } from './resources.js';

const defaults = { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } };

describe('resources of the pod', () => {
  it('CRD-008: what the spec asks for goes before the defaults, amount by amount', () => {
    const own = { requests: { cpu: '0.25' }, limits: { cpu: '2', memory: '1024Mi' } };
    expect(renderResources(own, defaults)).toEqual({
      requests: { cpu: '250m', memory: '128Mi' },
      limits: { cpu: '2', memory: '1Gi' },
    });
  });

  it('gives way with a default that contradicts the spec', () => {
    expect(renderResources({ limits: { memory: '64Mi' } }, defaults).requests?.['memory']).toBe('64Mi');
    expect(renderResources({ requests: { memory: '1Gi' } }, defaults).limits?.['memory']).toBe('1Gi');
  });

  it('says nothing where nobody said anything', () => {
    expect(renderResources(undefined, {})).toEqual({});
    expect(renderResources({ requests: {} }, {})).toEqual({});
  });
});
