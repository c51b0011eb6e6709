// The task of one workgroup of an attention pass: its rows, keys and columns, and the place of its results. Parts of
// the keys follow each other in `output` and `rows`; merge_parts.wgsl merges them.

struct Task {
  sequence: Sequence,
  part: u32,
  column: u32,     // first vec4 column of the values
  group: u32,      // key head
  first_row: u32,  // of the sequence; the heads of a group are side by side
  num_rows: u32,   // of the sequence; a workgroup after the last row does nothing
  begin: i32,      // keys that some row of the tile may see
  end: i32,
  query_base: u32,  // of the key head's first query head
  key_base: u32,
  value_base: u32,
  with formula { number: u32, }
}

/// The keys of a part. If the ring's first tokens have queries of their own, they are part 0.
fn keys_of_part(part: u32, key_begin: i32) -> KeyRange {
  let kept = select(0, params.ring_kept, has_kept_queries());
  if (has_kept_queries() && part == 0u) { return KeyRange(key_begin, key_begin + kept); }
  let begin = key_begin + kept + i32((part - select(0u, 1u, has_kept_queries())) * params.keys_per_part);
  return KeyRange(begin, begin + i32(params.keys_per_part));
}

/// Where the queries of a part begin, after the others.
fn queries_of_part(part: u32) -> u32 { return select(0u, params.kept_queries, part == 0u); }

fn task_of(index: u32, tile_rows: u32, tile_columns: u32) -> Task {
  var task: Task;
  var work = index;
  task.part = work % params.key_parts;
  work /= params.key_parts;
  task.column = (work % params.value_blocks) * tile_columns;
  work /= params.value_blocks;
  // The last rows see most keys if the call is causal. They come first, so that no long task is left at the end.
  task.first_row = (params.row_tiles - 1u - work % params.row_tiles) * tile_rows;
  work /= params.row_tiles;
  task.group = work % params.num_kv_heads;
  let sequence = sequence_at(work / params.num_kv_heads);
  task.sequence = sequence;
  with formula { task.number = work / params.num_kv_heads; }
  task.num_rows = sequence.num_queries * params.group_size;
  // Positions grow with the rows. So the first row gives the begin and the last row the end of the keys that the tile
  // sees.
  let last_row = min(task.first_row + tile_rows, task.num_rows) - 1u;
  let last_i = min(i32(last_row / params.group_size), sequence.query_length - 1);
  let part = keys_of_part(task.part, sequence.key_begin);
  task.begin = max(keys_seen_by(i32(task.first_row / params.group_size), sequence).begin, part.begin);
  task.end = min(keys_seen_by(last_i, sequence).end, part.end);
  task.query_base = queries_of_part(task.part) + sequence.batch * params.query_batch + task.group * params.group_size * params.query_head;
  task.key_base = sequence.batch * params.key_batch + task.group * params.key_head;
  task.value_base = sequence.batch * params.value_batch + task.group * params.value_head;
  return task;
}

fn head_of(task: Task, n: u32) -> u32 { return task.group * params.group_size + n % params.group_size; }
fn query_of(n: u32) -> u32 { return n / params.group_size; }

/// The number of row n among all rows, [B, Hq, Sq].
fn row_index(task: Task, n: u32) -> u32 {
  return (task.sequence.batch * params.num_heads + head_of(task, n)) * params.query_length + task.sequence.query_begin +
         query_of(n);
}

/// Row n of the sequence, with the keys of this task. A row after the last one sees nothing and is not loaded.
fn row_of(task: Task, n: u32) -> Row {
  var row = make_row(task.sequence, head_of(task, n), query_of(n));
  with formula { row = with_formulas(row, task.sequence, task.number, query_of(n)); }
  row.query += queries_of_part(task.part);
  row.begin = max(row.begin, task.begin);
  row.end = max(row.begin, min(row.end, task.end));
  if (n >= task.num_rows) { row.end = row.begin - 1; }
  return row;
}

/// Finishes row n, or keeps its part. Writes its statistics if `write`.
fn close_row(task: Task, n: u32, index: u32, seen: Statistics, write: bool) -> Finished {
  var s = seen;
  s.flags |= select(0u, PADDING, i32(query_of(n)) >= task.sequence.query_length);
  if (params.key_parts == 1u) { return finish_row(head_of(task, n), index, task.sequence.key_length, s, write); }
  if (write) {
    let at = 4u * (task.part * params.num_rows + index);
    rows[at] = bitcast<u32>(s.maximum);
    rows[at + 1u] = bitcast<u32>(s.sum);
    rows[at + 2u] = bitcast<u32>(s.weighted);
    rows[at + 3u] = s.flags;
  }
  return Finished(1.0f, FILL_NOTHING);
}

/// Writes one vec4 column of row n to the output, or to its part.
fn store_columns(task: Task, n: u32, index: u32, c4: u32, o: vec4<f32>, finished: Finished) {
  if (params.key_parts == 1u) {
    store_o(task.sequence, head_of(task, n), query_of(n), c4, o, finished);
    return;
  }
  let at = 4u * ((task.part * params.num_rows + index) * params.value4 + c4);
  for (var c = 0u; c < 4u; c++) { output[at + c] = bitcast<u32>(o[c]); }
}
