// What a task returned: pieces to read, to look at, to download.

import { useState } from "preact/hooks";
import type { Json, Output, Part } from "./api";
import { Fold } from "./bits";
import { Link, Markdown } from "./markdown";
import { bytes, cut, line, shown } from "./text";

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const LONGEST = 100_000;

export function Result({ output }: { output: Output }) {
  const { parts, structured } = output;
  if (parts.length === 0 && structured === undefined) return <p class="quiet">It returned nothing.</p>;
  return (
    <>
      {parts.map((part, index) => <Piece key={index} part={part} />)}
      {structured !== undefined && (parts.length === 0
        ? <Data value={structured} />
        : <Fold summary="As data">{() => <Data value={structured} />}</Fold>)}
    </>
  );
}

export function Data({ value }: { value: Json }) {
  return <pre class="code" tabIndex={0} dir="ltr">{shown(cut(JSON.stringify(value, null, 2), LONGEST))}</pre>;
}

function Piece({ part }: { part: Part }) {
  // What only calls itself an image is a file.
  const [broken, setBroken] = useState(false);
  const essence = part.mediaType.split(";")[0]!.trim().toLowerCase();
  const title = part.name && <p class="name">{line(part.name)}</p>;
  if (part.text !== undefined) {
    return (
      <div class="piece">
        {title}
        {essence === "text/markdown" ? <Markdown text={part.text} /> : <pre class="code" tabIndex={0} dir="auto">{shown(cut(part.text, LONGEST))}</pre>}
        {(part.name !== undefined || part.text.length > LONGEST) && <Download part={part} />}
      </div>
    );
  }
  if (part.link !== undefined) return <p class="piece">{title}<Link href={part.link} /></p>;
  return (
    <div class="piece">
      {title}
      {IMAGES.includes(essence) && !broken && <img onError={() => setBroken(true)} src={`data:${essence};base64,${part.bytes ?? ""}`} alt={line(part.name ?? "An image that the task returned")} />}
      <Download part={part} />
    </div>
  );
}

function Download({ part }: { part: Part }) {
  const size = part.text !== undefined ? new Blob([part.text]).size : Math.floor(((part.bytes ?? "").replace(/=+$/, "").length * 3) / 4);
  return (
    <button type="button" class="plain" onClick={() => save(part)}>
      Download {line(part.name ?? "the file")} <span class="quiet">{line(part.mediaType)}, {bytes(size)}</span>
    </button>
  );
}

function save(part: Part) {
  const data = part.text ?? Uint8Array.from(atob(part.bytes ?? ""), (c) => c.charCodeAt(0));
  // Never as the kind that the tool says: a page of a stranger must not open here.
  const url = URL.createObjectURL(new Blob([data], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = (part.name ?? "result").replace(/[/\\]/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
