// Prequential run of a MOA classifier, timed by the CPU clock of the thread that runs it.
//
//     java -cp moa.jar MoaPrequential.java STREAM CLASS OPTIONS WARM_UP REPEATS
//
// STREAM is a big-endian binary file: rows, features, classes (int); for each feature
// its number of nominal values, 0 if numeric (int); the rows (double); the labels (int).
// The stream is held in memory as MOA instances, so that no reading is timed. Each
// round takes a new learner. Rounds are not counted until WARM_UP seconds have been
// spent, and two rounds at least, so that the compiler has done its work. Prints for
// each of the REPEATS rounds that follow: accuracy, leaves, seconds.

import com.yahoo.labs.samoa.instances.Attribute;
import com.yahoo.labs.samoa.instances.DenseInstance;
import com.yahoo.labs.samoa.instances.Instance;
import com.yahoo.labs.samoa.instances.Instances;
import com.yahoo.labs.samoa.instances.InstancesHeader;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import moa.classifiers.AbstractClassifier;
import moa.core.Measurement;

public class MoaPrequential {
    public static void main(String[] args) throws Exception {
        Instance[] rows;
        InstancesHeader header;
        try (DataInputStream in = new DataInputStream(
                new BufferedInputStream(new FileInputStream(args[0]), 1 << 20))) {
            int n = in.readInt();
            int d = in.readInt();
            int k = in.readInt();
            List<Attribute> attributes = new ArrayList<>();
            for (int j = 0; j < d; j++) {
                attributes.add(attribute("x" + j, in.readInt()));
            }
            attributes.add(attribute("class", k));
            Instances empty = new Instances("stream", attributes, 0);
            empty.setClassIndex(d);
            header = new InstancesHeader(empty);
            rows = new Instance[n];
            for (int i = 0; i < n; i++) {
                double[] values = new double[d + 1];
                for (int j = 0; j < d; j++) {
                    values[j] = in.readDouble();
                }
                rows[i] = new DenseInstance(1.0, values);
                rows[i].setDataset(header);
            }
            for (int i = 0; i < n; i++) {
                rows[i].setClassValue(in.readInt());
            }
        }
        double warmUp = Double.parseDouble(args[3]);
        int repeats = Integer.parseInt(args[4]);
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        int cold = 0;
        double spent = 0.0;
        for (int round = 0; round < cold + repeats; round++) {
            AbstractClassifier learner = (AbstractClassifier)
                Class.forName(args[1]).getDeclaredConstructor().newInstance();
            learner.getOptions().setViaCLIString(args[2]);
            learner.setModelContext(header);
            learner.prepareForUse();
            int correct = 0;
            long start = clock.getCurrentThreadCpuTime();
            for (Instance row : rows) {
                if (learner.correctlyClassifies(row)) {
                    correct++;
                }
                learner.trainOnInstance(row);
            }
            long end = clock.getCurrentThreadCpuTime();
            if (cold == round && (spent < warmUp || round < 2)) {
                cold++;
                spent += (end - start) * 1e-9;
            } else {
                Measurement leaves = Measurement.getMeasurementNamed(
                    "tree size (leaves)", learner.getModelMeasurements());
                System.out.println((double) correct / rows.length + " "
                    + (leaves == null ? -1 : (long) leaves.getValue()) + " "
                    + (end - start) * 1e-9);
            }
        }
    }

    private static Attribute attribute(String name, int values) {
        if (values == 0) {
            return new Attribute(name);
        }
        List<String> names = new ArrayList<>();
        for (int v = 0; v < values; v++) {
            names.add("v" + v);
        }
        return new Attribute(name, names);
    }
}
