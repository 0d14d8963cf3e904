// What the page was written with: JSON beside the scripts, arrays of numbers in it as base64.

export function readData(id = "recursa-data") {
  return JSON.parse(document.getElementById(id).textContent);
}

function bytes(text) {
  const plain = atob(text);
  const out = new Uint8Array(plain.length);
  for (let i = 0; i < plain.length; i++) out[i] = plain.charCodeAt(i);
  return out.buffer;
}

export const floats = text => new Float32Array(bytes(text));
export const shorts = text => new Uint16Array(bytes(text));
export const longs = text => new Uint32Array(bytes(text));
