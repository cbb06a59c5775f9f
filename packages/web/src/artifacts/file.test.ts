import { describe, expect, it } from '@jest/globals';
import { fileOf } from './file.js';

describe('the file of a document', () => {
  it.each([
    ['<!DOCTYPE html><p>', true, 'Tea.html'],
    ['  <html lang="en">', true, 'Tea.html'],
    // As the service returns it.
    ['< !doctype html>< script>', true, 'Tea.html'],
    ['<?xml version="1.0"?>\n<svg onload="x()">', true, 'Tea.svg'],
    ['# Tea\n<script>', false, 'Tea.md'],
  ])('has the type of its content, %j', (content, isSource, name) => {
    expect(fileOf('Tea', content)).toMatchObject({ isSource, name });
  });

  it('has a name that is safe in every file system', () => {
    expect(fileOf('../../etc/<passwd>: "x"', '').name).toBe('etcpasswd x.md');
    expect(fileOf('///', '').name).toBe('document.md');
  });
});
